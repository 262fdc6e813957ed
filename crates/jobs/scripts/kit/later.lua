
-- What follows is needed rarely: it is made when it is asked for.
kit.rest = function()
  if kit.read then return end


end

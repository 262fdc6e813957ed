
return main()

module plimsoll.example/licence-seats

go 1.24

require github.com/plimsoll/plimsoll/plugin-sdk/go v0.0.0

replace github.com/plimsoll/plimsoll/plugin-sdk/go => ../../plugin-sdk/go

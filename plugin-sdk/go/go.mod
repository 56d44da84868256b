module github.com/plimsoll/plimsoll/plugin-sdk/go

go 1.24

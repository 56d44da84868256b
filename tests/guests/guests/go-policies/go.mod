module plimsoll.example/policies

go 1.24

module plimsoll.example/guest

go 1.24

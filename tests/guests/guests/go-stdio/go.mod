module example.com/gpu-zone

go 1.24

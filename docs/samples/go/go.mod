module example.com/dealer-esim-samples

go 1.19

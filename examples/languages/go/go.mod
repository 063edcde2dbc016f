module example.com/reboot

go 1.19

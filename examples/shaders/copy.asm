// Each group copies 128 bytes from the surface 0 to the surface 1, at 128 times the group's number: gemtool eu asm, or iga64.
mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud
shl (1|M0) r2.2<1>:ud r0.1<0;1,0>:ud 0x3:ud
send (16|M0) r3:uw r2 0xA 0x2480400
send (16|M0) null:uw r2 0xA 0xA0A0401
mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud
send (16|M0) null:uw r112 0x27 0x2000010 {EOT}

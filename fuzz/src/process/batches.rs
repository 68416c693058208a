//! Batches that do something: commands with operands that are probably right.

use crate::input::Input;

/// MI_BATCH_BUFFER_END.
const BATCH_END: u32 = 0x0500_0000;
/// First dwords of commands: MI_STORE_DATA_IMM, MI_FLUSH_DW and MI_BATCH_BUFFER_START with addresses of 32 and of
/// 64 bits; then XY_COLOR_BLT, XY_SRC_COPY_BLT, XY_FAST_COPY_BLT, XY_BLOCK_COPY_BLT and XY_FAST_COLOR_BLT.
const COMMANDS: &[u32] = &[
    0x1000_0002,
    0x1020_0003,
    0x1300_4001,
    0x1300_4003,
    0x1880_0100,
    0x1880_0101,
    0x18c0_0101,
    0x5430_0004,
    0x5430_0005,
    0x54f0_0006,
    0x54f0_0008,
    0x5080_0008,
    0x5050_000a,
    0x5050_0014,
    0x5110_000e,
];

/// A batch of some commands, which may be none and may have no end.
pub(crate) fn some_commands(input: &mut Input<'_>) -> Vec<u32> {
    let mut words = Vec::new();
    for _ in 0..input.byte() % 4 {
        let first = input.of(COMMANDS);
        words.push(first);
        for number in 0..(first & 0xff) + 1 {
            // Corners and pitches are small, or something; addresses are where objects are bound at first.
            let byte = u32::from(input.byte());
            words.push(match number {
                0 if first >> 29 == 2 => {
                    input.of(&[0x03f0_0040, 0x03cc_0040, 0x0300_0040, 0x3f]) ^ byte << 12
                }
                _ if byte & 1 == 0 => byte << 11,
                _ => (byte >> 4) << 16 | byte & 0xf,
            });
        }
    }
    if !input.one_in(8) {
        words.push(BATCH_END);
    }
    words.resize(words.len().next_multiple_of(2), 0);
    words
}

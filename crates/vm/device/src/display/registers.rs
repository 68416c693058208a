//! Display registers that only need a table: states that follow requests, values that never change.

use crate::gpu::display::{Model, Row, State};

/// What is the same on all platforms with a model.
const STATES: &[State] = &[
    // TRANSCONF of transcoders A to D and of eDP: enable, "is on".
    State::follows(Row { first: 0x7_0008, distance: 0x1000, count: 4 }, 1 << 31, 1 << 30),
    State::follows(Row::one(0x7_f008), 1 << 31, 1 << 30),
    // DDI_BUF_CTL of all ports: enable, "is idle".
    State::opposes(Row { first: 0x6_4000, distance: 0x100, count: 9 }, 1 << 31, 1 << 7),
];
const CONSTANTS: &[(u32, u32)] = &[
    // GMBUS2: nobody acknowledged on the I2C bus (GMBUS_SATOER), and the controller is ready.
    (0xc_5108, 1 << 10 | 1 << 11),
];

pub fn constant(model: &Model, register: u32) -> Option<u32> {
    let mut all = CONSTANTS.iter().chain(model.constants);
    all.find(|(address, _)| *address == register).map(|(_, value)| *value)
}

/// The written value with its states, if the register has any.
pub fn with_states(model: &Model, register: u32, written: u32) -> Option<u32> {
    STATES.iter().chain(model.states).filter(|row| row.registers.holds(register)).fold(None, |value, row| {
        let value = value.unwrap_or(written);
        let set = (written & row.request != 0) != row.inverted;
        Some(if set { value | row.state } else { value & !row.state })
    })
}

pub fn clears_on_write(model: &Model, register: u32) -> bool {
    model.clear_on_write.iter().any(|row| row.holds(register))
}

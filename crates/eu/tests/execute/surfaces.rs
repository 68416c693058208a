//! Surfaces of bytes, kernels and payloads.

use intel_eu::execute::{Access, Bus};

/// Surfaces of bytes, and the accesses to them.
#[derive(Default)]
pub struct Surfaces {
    pub bytes: Vec<Vec<u8>>,
    pub accesses: Vec<(Access, usize)>,
}

impl Bus for Surfaces {
    fn read(&mut self, access: Access, bytes: &mut [u8]) {
        self.accesses.push((access, bytes.len()));
        let surface = &self.bytes[usize::from(access.surface)];
        for (number, byte) in bytes.iter_mut().enumerate() {
            *byte = surface.get(access.offset as usize + number).copied().unwrap_or(0);
        }
    }

    fn write(&mut self, access: Access, bytes: &[u8]) {
        self.accesses.push((access, bytes.len()));
        let surface = &mut self.bytes[usize::from(access.surface)];
        for (number, byte) in bytes.iter().enumerate() {
            if let Some(place) = surface.get_mut(access.offset as usize + number) {
                *place = *byte;
            }
        }
    }
}

/// Returns surfaces of which the first has numbers, and the second nothing.
pub fn surfaces(len: usize) -> Surfaces {
    let bytes = vec![(0..len).map(|number| (number % 251) as u8 + 1).collect(), vec![0; len]];
    Surfaces { bytes, accesses: Vec::new() }
}

/// Returns the bytes of a kernel.
pub fn bytes(kernel: &[[u32; 4]]) -> Vec<u8> {
    kernel.iter().flatten().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// Returns the first register of a group, and one with a number.
pub fn payload(group: u32, number: u32) -> [[u8; 32]; 2] {
    let mut registers = [[0; 32]; 2];
    registers[0][4..8].copy_from_slice(&group.to_le_bytes());
    registers[1][..4].copy_from_slice(&number.to_le_bytes());
    registers
}

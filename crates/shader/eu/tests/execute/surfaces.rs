//! Surfaces of bytes, shaders and payloads.

use intel_eu::execute::{Access, Bus, Rows, Shader, Stop, Thread};
use intel_eu::{Platform, encode, text};

/// Surfaces of bytes, and the accesses to them.
#[derive(Default)]
pub struct Surfaces {
    pub bytes: Vec<Vec<u8>>,
    /// Those that are no buffers.
    pub rows: [Option<Rows>; 2],
    pub accesses: Vec<(Access, usize)>,
}

impl Bus for Surfaces {
    fn rows(&mut self, surface: u8) -> Option<Rows> {
        self.rows[usize::from(surface)]
    }

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
    Surfaces { bytes, ..Surfaces::default() }
}

/// Returns the bytes of a shader.
pub fn bytes(shader: &[[u32; 4]]) -> Vec<u8> {
    shader.iter().flatten().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// Returns the first register of a group, and one with a number.
pub fn payload(group: u32, number: u32) -> [[u8; 32]; 2] {
    let mut registers = [[0; 32]; 2];
    registers[0][4..8].copy_from_slice(&group.to_le_bytes());
    registers[1][..4].copy_from_slice(&number.to_le_bytes());
    registers
}

/// Checks a shader.
pub fn check(platform: Platform, dispatched: u32, shader: &[u8]) -> Result<usize, Stop> {
    Shader::new(platform, shader).check(dispatched)
}

/// Runs a thread of a shader for at most so many steps.
pub fn run(
    platform: Platform,
    dispatched: u32,
    payload: &[[u8; 32]],
    shader: &[u8],
    steps: u64,
    bus: &mut Surfaces,
) -> Result<u64, Stop> {
    Thread::new(&Shader::new(platform, shader), dispatched, payload).run(steps, bus)
}

/// Returns the bytes of a shader in assembly.
pub fn assemble(platform: Platform, text: &str) -> Vec<u8> {
    let program = text::parse_program(platform, text).unwrap_or_else(|error| panic!("{platform}: {error}"));
    program.iter().flat_map(|instruction| encode(platform, instruction).unwrap().to_le_bytes()).collect()
}

/// Returns a shader that stores r10 and r11 to the second surface, after instructions in assembly.
pub fn storing(platform: Platform, body: &str) -> Vec<u8> {
    let sends = match platform.graphics() {
        125.. => {
            "(W) send.dc0 (8|M0) null r9 r10:2 0x0 0x020A0301
            (W) send.gtwy (8|M0) null r112 null:0 0x0 0x02000000 {EOT}"
        }
        120.. => {
            "(W) send.dc0 (8|M0) null r9 r10 0x80 0x020A0301
            (W) send.ts (8|M0) null r112 null 0x0 0x02000010 {EOT}"
        }
        _ => {
            "(W) send (8|M0) null:ud r9 0xA 0x060A0301
            (W) send (8|M0) null:ud r112 0x27 0x02000010 {EOT}"
        }
    };
    let header = "(W) mov (8|M0) r9.0<1>:ud 0x0:ud
        (W) mov (16|M0) r10.0<1>:ud 0x0:ud";
    assemble(platform, &format!("{header}\n{body}\n(W) mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud\n{sends}"))
}

/// Runs a shader of [`storing`], with numbers in r2 and r3, and returns those that it stores.
pub fn stored(
    platform: Platform,
    dispatched: u32,
    numbers: [u32; 16],
    body: &str,
) -> Result<[u32; 16], Stop> {
    stored_from(&mut surfaces(64), platform, dispatched, numbers, body)
}

/// The same on surfaces of 64 bytes.
pub fn stored_from(
    bus: &mut Surfaces,
    platform: Platform,
    dispatched: u32,
    numbers: [u32; 16],
    body: &str,
) -> Result<[u32; 16], Stop> {
    let mut payload = [[0; 32]; 4];
    for (at, number) in numbers.iter().enumerate() {
        payload[2 + at / 8][at % 8 * 4..][..4].copy_from_slice(&number.to_le_bytes());
    }
    run(platform, dispatched, &payload, &storing(platform, body), 10_000, bus)?;
    Ok(dwords(&bus.bytes[1]))
}

/// Returns the dwords of a surface of 64 bytes.
pub fn dwords(bytes: &[u8]) -> [u32; 16] {
    std::array::from_fn(|at| u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap()))
}

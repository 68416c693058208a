//! Threads of shaders in the syntax of Intel's assembler; their results are computed in another way.

// The library alone uses a part of this.
#[allow(dead_code, unused_imports)]
#[path = "../../src/eu/mod.rs"]
mod eu;

mod branches;
mod messages;
mod numbers;

use eu::layout::Form;
use eu::memory::Memory;
use eu::{Shader, Stop, Thread};
use intel_eu::{Platform, encode, text};

/// A platform of each form. The forms of gen8 and gen11 differ in the codes of types.
const FORMS: [(Platform, Form); 5] = [
    (Platform::Hsw, Form::Gen7),
    (Platform::Bdw, Form::Gen8),
    (Platform::Jsl, Form::Gen11),
    (Platform::Tgl, Form::Gen12),
    (Platform::Dg2, Form::XeHp),
];
const BDW: (Platform, Form) = FORMS[1];

/// A buffer at binding 0.
struct Buffer(Vec<u8>);

impl Memory for Buffer {
    fn read(&mut self, binding: u8, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        assert_eq!(binding, 0);
        bytes.fill(0);
        let from = self.0.get(offset as usize..).unwrap_or_default();
        bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn write(&mut self, binding: u8, offset: u64, bytes: &[u8]) -> Result<(), String> {
        assert_eq!(binding, 0);
        let to = self.0.get_mut(offset as usize..).unwrap_or_default();
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn read_line(&mut self, _: u8, _: [u64; 2], _: &mut [u8]) -> Result<(), String> {
        Err("no picture".into())
    }

    fn write_line(&mut self, _: u8, _: [u64; 2], _: &[u8]) -> Result<(), String> {
        Err("no picture".into())
    }
}

/// A thread's registers and buffer.
struct State {
    registers: Vec<(usize, [u32; 16])>,
    buffer: Vec<u8>,
}

impl State {
    /// Sixteen dwords from a register on.
    fn dwords(&self, register: usize) -> [u32; 16] {
        self.registers[register].1
    }

    /// The dword of each of sixteen channels.
    fn with(mut self, register: usize, dword: impl Fn(u32) -> u32) -> Self {
        self.registers.push((register, std::array::from_fn(|channel| dword(channel as u32))));
        self
    }

    fn buffer(bytes: Vec<u8>) -> Self {
        Self { registers: Vec::new(), buffer: bytes }
    }

    /// Registers of zeros but for r2, r3, where each channel has its number.
    fn numbered() -> Self {
        Self::buffer(Vec::new()).with(2, |channel| channel)
    }
}

/// The instructions that end a thread.
fn end(form: Form) -> &'static str {
    match form {
        Form::Gen7 | Form::Gen8 | Form::Gen11 => {
            "\nmov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud\n(W) send (8|M0) null r112 0x27 0x02000010 {EOT}\n"
        }
        Form::Gen12 => {
            "\nmov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud\n(W) send.ts (8|M0) null r112 null 0x0 0x02000010 {EOT}\n"
        }
        Form::XeHp => {
            "\nmov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud\n(W) send.gtwy (8|M0) null r112 null:0 0x0 0x02000000 {EOT}\n"
        }
    }
}

/// Runs a thread of sixteen channels; instructions that the text does not end are ended.
fn run_on(
    (platform, form): (Platform, Form),
    source: &str,
    state: State,
    dispatch: u32,
) -> Result<State, Stop> {
    let text = format!("{source}{}", end(form));
    let instructions =
        text::parse_program(platform, &text).unwrap_or_else(|error| panic!("{platform}: {error}\n{text}"));
    let words: Vec<u128> =
        instructions.iter().map(|instruction| encode(platform, instruction).unwrap()).collect();
    let shader = Shader::read(form, |offset| {
        let word = words.get(offset as usize / 16).ok_or("the shader's words end")?;
        Ok([0, 32, 64, 96].map(|low| (word >> low) as u32))
    });
    let mut buffer = Buffer(state.buffer);
    let mut thread = Thread::new(form, dispatch, &mut buffer);
    for (register, dwords) in state.registers {
        for (index, dword) in dwords.into_iter().enumerate() {
            thread.registers.set_dword(register, index, dword)?;
        }
    }
    thread.run(&shader)?;
    let mut registers = Vec::new();
    for register in 0..112 {
        let bytes = thread.registers.bytes(register, 64)?.as_chunks::<4>().0;
        registers.push((register, std::array::from_fn(|index| u32::from_le_bytes(bytes[index]))));
    }
    drop(thread);
    Ok(State { registers, buffer: buffer.0 })
}

fn run(platform: (Platform, Form), source: &str, state: State) -> State {
    match run_on(platform, source, state, 0xffff) {
        Ok(state) => state,
        Err(stop) => panic!("{}: {stop:?}\n{source}", platform.0),
    }
}

/// The error with which a thread of a shader of Broadwell stops.
fn refused(source: &str, state: State) -> String {
    match run_on(BDW, source, state, 0xffff) {
        Ok(_) => panic!("it comes to its end\n{source}"),
        Err(Stop::Endless) => panic!("it never ends\n{source}"),
        Err(Stop::Unknown(error)) => error,
    }
}

//! Instructions, from their 128 bits. An unknown one is an error that names it.

use super::branch::{Branch, Kind};
use super::channels::{Channels, Predicate};
use super::layout::{COMPACTED, DestinationFields, Field, Form, IMMEDIATE, OPCODE, SourceFields, field};
use super::message::Message;
use super::operation::Operation;
use super::registers::{Place, Region};
use super::types::{ImmediateType, Type};

pub struct Instruction {
    pub channels: Channels,
    pub action: Action,
}

pub enum Action {
    Nothing,
    Compute(Compute),
    Branch(Branch),
    Send(Message),
}

pub struct Compute {
    pub operation: Operation,
    pub condition: Option<Condition>,
    pub saturate: bool,
    pub destination: Region,
    pub kind: Type,
    pub sources: Vec<Source>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Zero,
    NotZero,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

pub enum Source {
    Register { region: Region, kind: Type, absolute: bool, sign: Sign },
    Immediate { kind: ImmediateType, word: u32 },
}

/// What happens to a source's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Kept,
    Negated,
    /// All bits: what negation is for logical operations, since gen8.
    Inverted,
}

impl Source {
    pub fn kind(&self) -> Type {
        match self {
            Self::Register { kind, .. } => *kind,
            Self::Immediate { kind, .. } => kind.element(),
        }
    }
}

/// Predicate controls: any4h.
const ANY_OF_FOUR: u64 = 6;

/// Opcodes that are neither computed nor sent: nop, and sync of gen12 with its functions nop, allrd
/// and allwr, for which everything here is in order.
const NOP: [u64; 2] = [126, 96];
const SYNC: u64 = 1;
const SYNC_FUNCTIONS: [u64; 3] = [0, 2, 3];
/// send; sends of gen9 and gen11. From gen12 on each send has two payloads.
const SEND: u64 = 49;
const SENDS: u64 = 51;

/// Files: ARF, GRF, and before gen12 that of immediates.
const ARCHITECTURE: u64 = 0;
const GENERAL: u64 = 1;
const IMMEDIATE_FILE: u64 = 3;
/// Registers of the ARF.
const NULL: u64 = 0;
const FLAGS: [u64; 2] = [0x30, 0x31];

impl Instruction {
    pub fn decode(form: Form, word: u128) -> Result<Self, String> {
        let layout = form.layout();
        let of = |at: Field| field(word, at);
        if of(COMPACTED) != 0 {
            return Err("a compacted instruction".into());
        }
        if layout.align16.is_some_and(|at| of(at) != 0) {
            return Err("Align16".into());
        }
        let predicate = match (of(layout.predicate), of(layout.inverse)) {
            (0, _) => None,
            (1, 0) => Some(Predicate::Set),
            (1, _) => Some(Predicate::Clear),
            (ANY_OF_FOUR, inverse) => Some(Predicate::AnyOfFour { holds: inverse == 0 }),
            (other, _) => return Err(format!("predicate {other}")),
        };
        let count = match of(layout.size) {
            size @ 0..=5 => 1 << size,
            size => return Err(format!("execution size {size}")),
        };
        let channels = Channels {
            count,
            first: (4 * of(layout.nibble) + 8 * of(layout.quarter)) as u32,
            no_mask: of(layout.no_mask) != 0,
            predicate,
            flags: (32 * of(layout.flag_register) + 16 * of(layout.flag_half)) as u32,
        };
        if channels.first + count > 32 {
            return Err(format!("{count} channels from {}", channels.first));
        }
        let opcode = of(OPCODE);
        let new = form >= Form::Gen12;
        let action = match opcode {
            _ if opcode == NOP[usize::from(new)] => Action::Nothing,
            SYNC if new && SYNC_FUNCTIONS.contains(&of(layout.condition)) => Action::Nothing,
            SEND => Action::Send(Message::decode(form, word, new)?),
            SENDS if matches!(form, Form::Gen8 | Form::Gen11) => {
                Action::Send(Message::decode(form, word, true)?)
            }
            _ => match Kind::of(opcode) {
                Some(kind) => Action::Branch(Branch::decode(form, word, kind)?),
                None => {
                    let operation = Operation::of(form, opcode, of(layout.condition))?;
                    Action::Compute(Compute::decode(form, word, operation)?)
                }
            },
        };
        Ok(Self { channels, action })
    }

    /// Whether the thread ends with it.
    pub fn is_end(&self) -> bool {
        matches!(&self.action, Action::Send(message) if message.end)
    }
}

impl Compute {
    fn decode(form: Form, word: u128, operation: Operation) -> Result<Self, String> {
        let layout = form.layout();
        let of = |at: Field| field(word, at);
        let condition = match of(layout.condition) {
            // There, `math` has its function.
            _ if matches!(operation, Operation::Math(_)) => None,
            0 => None,
            1 => Some(Condition::Zero),
            2 => Some(Condition::NotZero),
            3 => Some(Condition::Greater),
            4 => Some(Condition::GreaterOrEqual),
            5 => Some(Condition::Less),
            6 => Some(Condition::LessOrEqual),
            other => return Err(format!("condition {other}")),
        };
        let (destination, kind) = destination(form, word, &layout.destination)?;
        let count = operation.sources();
        let mut sources = Vec::new();
        for (index, fields) in layout.sources.iter().take(count).enumerate() {
            let source = source(form, word, fields, operation)?;
            if matches!(source, Source::Immediate { .. }) && index + 1 != count {
                return Err("an immediate that is not the last source".into());
            }
            sources.push(source);
        }
        Ok(Self { operation, condition, saturate: of(layout.saturate) != 0, destination, kind, sources })
    }
}

/// The register that an operand names.
fn place(file: u64, register: u64) -> Result<(Place, usize), String> {
    match (file, register) {
        (GENERAL, _) => Ok((Place::General, 32 * register as usize)),
        (ARCHITECTURE, NULL) => Ok((Place::Null, 0)),
        (ARCHITECTURE, _) if FLAGS.contains(&register) => Ok((Place::Flags, 4 * (register & 1) as usize)),
        (ARCHITECTURE, _) => Err(format!("architecture register {register:#x}")),
        _ => Err(format!("register file {file}")),
    }
}

fn destination(form: Form, word: u128, fields: &DestinationFields) -> Result<(Region, Type), String> {
    let of = |at: Field| field(word, at);
    if of(fields.indirect) != 0 {
        return Err("an indirect destination".into());
    }
    let code = of(fields.kind);
    let kind = Type::of_register(form, code).ok_or_else(|| format!("destination type {code}"))?;
    let (place, start) = place(of(fields.file), of(fields.register))?;
    let stride = match of(fields.stride) {
        0 => return Err("a destination's stride of 0".into()),
        stride => 1 << (stride - 1),
    };
    let start = start + of(fields.byte) as usize;
    Ok((Region { place, start, vertical: stride, width: 1, horizontal: 0 }, kind))
}

fn source(form: Form, word: u128, fields: &SourceFields, operation: Operation) -> Result<Source, String> {
    let of = |at: Field| field(word, at);
    let (file, code) = (of(fields.file), of(fields.kind));
    let immediate = fields.immediate.map_or(file == IMMEDIATE_FILE, |at| of(at) != 0);
    if immediate {
        let kind = ImmediateType::of(form, code).ok_or_else(|| format!("immediate type {code}"))?;
        return Ok(Source::Immediate { kind, word: of(IMMEDIATE) as u32 });
    }
    if of(fields.indirect) != 0 {
        return Err("an indirect source".into());
    }
    let kind = Type::of_register(form, code).ok_or_else(|| format!("source type {code}"))?;
    let (place, start) = place(file, of(fields.register))?;
    if place == Place::Null {
        return Err("a null source".into());
    }
    let absolute = of(fields.absolute) != 0;
    let sign = match (of(fields.negate) != 0, operation.is_logical()) {
        (false, _) => Sign::Kept,
        (true, false) => Sign::Negated,
        (true, true) if form > Form::Gen7 => Sign::Inverted,
        (true, true) => return Err("a negated source of a logical operation".into()),
    };
    if absolute && operation.is_logical() {
        return Err("an absolute source of a logical operation".into());
    }
    let vertical = match of(fields.vertical) {
        0 => 0,
        stride @ 1..=6 => 1 << (stride - 1),
        stride => return Err(format!("vertical stride {stride}")),
    };
    let width = match of(fields.width) {
        width @ 0..=4 => 1 << width,
        width => return Err(format!("width {width}")),
    };
    let horizontal = match of(fields.horizontal) {
        0 => 0,
        stride => 1 << (stride - 1),
    };
    let start = start + of(fields.byte) as usize;
    let region = Region { place, start, vertical, width, horizontal };
    Ok(Source::Register { region, kind, absolute, sign })
}

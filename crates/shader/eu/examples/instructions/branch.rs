//! Makes branches, at random.

use intel_eu::{Destination, Form, Instruction, Opcode, Place, Region, Source, Type};

use crate::maker::{Maker, architecture, scalar};

impl Maker {
    /// Makes the operands of a branch.
    pub fn branch(&mut self, i: &mut Instruction, form: Form) {
        let graphics = self.platform.graphics();
        let is_call = matches!(i.opcode, Opcode::Call | Opcode::Calla);
        let unit = if graphics >= 80 || is_call { 1 } else { 8 };
        let null = Destination::default();
        i.destination = match (i.opcode, graphics) {
            (Opcode::Call | Opcode::Calla, _) => {
                let (kind, stride) = if graphics >= 120 { (Type::Ub, 0) } else { (Type::D, 1) };
                Some(Destination { place: self.general(4), kind, stride, mask: 0 })
            }
            (_, 120..) => None,
            (Opcode::Brd | Opcode::Brc, _) => {
                Some(Destination { place: architecture(0xa0), kind: Type::D, ..null })
            }
            _ => Some(null),
        };
        let has_register = is_call || graphics >= 80 && matches!(i.opcode, Opcode::Brd | Opcode::Brc);
        if has_register && self.random.rarely(2) {
            let at = usize::from(is_call && graphics < 120);
            i.sources[at] = Some(self.target(i.opcode));
            return;
        }
        let distance = self.distance() / unit;
        // The target of `calla` is from the program's begin on.
        i.jip = Some(if i.opcode == Opcode::Calla { distance.abs() } else { distance });
        i.uip = (form == Form::Jumps).then(|| self.distance() / unit);
        i.accumulator_write = graphics >= 80
            && matches!(i.opcode, Opcode::If | Opcode::Else | Opcode::Goto)
            && self.random.rarely(4);
    }

    /// Makes the operands of a jump.
    pub fn jmpi(&mut self, i: &mut Instruction) {
        let is_late = self.platform.graphics() >= 120;
        let has_register = self.random.rarely(2);
        (i.execution_size, i.channel_offset, i.no_mask) = (1, 0, true);
        if !is_late {
            let pointer = architecture(0xa0);
            i.destination = Some(Destination { place: pointer, ..Destination::default() });
            i.sources[0] = Some(scalar(pointer, Type::Ud));
        }
        if has_register {
            i.sources[usize::from(!is_late)] = Some(self.target(i.opcode));
        } else if is_late {
            i.jip = Some(self.distance());
        } else {
            let bits = u64::from(self.distance().wrapping_sub(16) as u32);
            i.sources[1] = Some(Source::Immediate { kind: Type::D, bits });
        }
    }

    /// Makes the operands of a return.
    pub fn ret(&mut self, i: &mut Instruction) {
        let is_late = self.platform.graphics() >= 120;
        let (kind, stride) = if is_late { (Type::Ub, 0) } else { (Type::Ud, 1) };
        i.destination = Some(Destination { kind, stride, ..Destination::default() });
        i.sources[0] = Some(self.target(i.opcode));
    }

    /// Returns a register that has the target of a branch.
    fn target(&mut self, opcode: Opcode) -> Source {
        let place = self.general(4);
        match (opcode, self.platform.graphics()) {
            (_, 120..) => scalar(place, Type::Ub),
            (Opcode::Brc | Opcode::Ret, _) => pair(place),
            _ => scalar(place, Type::D),
        }
    }

    /// Returns the distance of a target that is near, in bytes.
    fn distance(&mut self) -> i32 {
        (self.random.below(20) as i32 - 10) * 16
    }
}

/// Returns a source of two dwords.
fn pair(place: Place) -> Source {
    let region = Region::Rows { vertical: Some(2), width: 2, horizontal: 1 };
    Source::Register { place, kind: Type::D, region, absolute: false, negate: false }
}

//! Makes operands of macro operations, at random.

use intel_eu::{Destination, Instruction, Opcode, Pattern, Place, Region, Source, Type};

use crate::maker::Maker;

impl Maker {
    /// Makes the operands of a macro operation with so many sources.
    pub fn macro_operands(&mut self, i: &mut Instruction, sources: usize) {
        i.align16 = self.platform.graphics() < 110;
        if let (Some(predicate), true) = (&mut i.predicate, i.align16) {
            predicate.pattern = Pattern::Normal;
        }
        // The assembler makes `madm` of one channel an instruction of several.
        if i.align16 && i.opcode == Opcode::Madm {
            i.execution_size = i.execution_size.max(4);
        }
        let kind = self.random.pick(&[Type::Hf, Type::F, Type::Df]);
        i.destination = Some(Destination { place: self.macro_place(), kind, stride: 1, mask: 0 });
        for number in 0..sources {
            let can_be_immediate = i.opcode == Opcode::Math && number == 1;
            i.sources[number] = Some(if can_be_immediate && self.random.rarely(8) {
                self.immediate(Type::F)
            } else {
                let (absolute, negate) = self.modifiers(i);
                let region = self.macro_region(i, number, kind);
                Source::Register { place: self.macro_place(), kind, region, absolute, negate }
            });
        }
    }

    fn macro_place(&mut self) -> Place {
        Place::Macro { number: self.random.below(128) as u8, accumulator: self.random.below(9) as u8 }
    }

    /// Returns the region that the assembler gives a source.
    fn macro_region(&self, i: &Instruction, number: usize, kind: Type) -> Region {
        let rows = |vertical, width, horizontal| Region::Rows { vertical: Some(vertical), width, horizontal };
        match (i.opcode, self.platform.graphics()) {
            (Opcode::Madm, 110..) => Region::of_three(if number == 2 { 1 } else { 4 }, 1),
            (Opcode::Math, ..110) if kind == Type::Df => Region::Groups { vertical: Some(2), swizzle: 0 },
            (_, ..110) => Region::Groups { vertical: Some(4), swizzle: 0 },
            (_, 110..) if i.execution_size == 1 => rows(0, 1, 0),
            (_, 110..120) => rows(2, 2, 1),
            (_, 120..) => rows(1, 1, 0),
        }
    }
}

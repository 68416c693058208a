//! Makes matrix operations, at random.

use intel_eu::{Destination, File, Instruction, Place, Region, Source, Systolic, Type};

use crate::maker::Maker;

impl Maker {
    /// Makes the operands of a matrix operation.
    pub fn systolic(&mut self, i: &mut Instruction) {
        i.accumulator_write = self.random.rarely(12);
        let is_float = self.random.rarely(2);
        let (results, factors): (&[Type], &[Type]) = if is_float {
            (&[Type::F, Type::Hf, Type::Bf], &[Type::Hf, Type::Bf])
        } else {
            (&[Type::D, Type::Ud], &[Type::B, Type::Ub])
        };
        let depth = self.random.pick(&[1, 2, 4, 8]);
        let repeat = self.random.below(8) as u8 + 1;
        let bits = [(); 2].map(|()| if is_float { 16 } else { self.random.pick(&[8, 4, 2]) });
        i.systolic = Some(Systolic { depth, repeat, bits });
        let kind = self.random.pick(results);
        i.destination = Some(Destination { place: self.whole(kind), kind, ..Destination::default() });
        for (at, source) in i.sources.iter_mut().enumerate() {
            let kind = self.random.pick(if at == 0 { results } else { factors });
            let is_missing = at == 0 && self.random.rarely(4);
            let place = if is_missing { Place::NULL } else { self.whole(kind) };
            let region = Region::Payload;
            *source = Some(Source::Register { place, kind, region, absolute: false, negate: false });
        }
    }

    /// Returns a register, seldom one from an element on.
    fn whole(&mut self, kind: Type) -> Place {
        let element =
            if self.random.rarely(4) { self.random.below(usize::from(32 / kind.bytes())) } else { 0 };
        let number = self.random.below(128) as u8;
        Place::Direct { file: File::General, number, offset: element as u8 * kind.bytes() }
    }
}

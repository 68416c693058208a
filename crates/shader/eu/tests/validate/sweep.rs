//! Regions of all shapes, judged by the bytes that their channels have.

use std::collections::BTreeSet;

use intel_eu::{File, Opcode, Place, Platform, Rule, Type, validate};

use crate::build::{Build, Rows, op};

/// The rules that the bytes tell.
const JUDGED: [Rule; 6] = [
    Rule::RowCrossing,
    Rule::SourceSpan,
    Rule::DestinationSpan,
    Rule::OwordSplit,
    Rule::RegisterSplit,
    Rule::RegisterPairing,
];

/// A mov: its channels, the type of both operands, the source's region and first byte, the destination's stride and first
/// byte.
#[derive(Clone, Copy, Debug)]
struct Shape {
    channels: u32,
    kind: Type,
    rows: Rows,
    from: u32,
    stride: u32,
    to: u32,
}

impl Shape {
    /// Returns the bytes of each channel, of the source and of the destination.
    fn bytes(&self) -> [Vec<Vec<u32>>; 2] {
        let size = u32::from(self.kind.bytes());
        let (vertical, width, horizontal) = self.rows;
        let (mut source, mut destination) = (Vec::new(), Vec::new());
        let mut row = self.from;
        'rows: loop {
            let mut element = row;
            for _ in 0..width {
                if source.len() as u32 == self.channels {
                    break 'rows;
                }
                source.push((element..element + size).collect());
                element += u32::from(horizontal) * size;
            }
            row += u32::from(vertical) * size;
        }
        for channel in 0..self.channels {
            let first = self.to + channel * self.stride * size;
            destination.push((first..first + size).collect());
        }
        [source, destination]
    }

    /// Returns which of the judged rules it breaks.
    fn broken(&self, platform: Platform) -> BTreeSet<Rule> {
        let [source, destination] = self.bytes();
        let registers = |channels: &[Vec<u32>]| -> BTreeSet<u32> {
            channels.iter().flatten().map(|byte| byte / 32).collect()
        };
        let halves = |channels: &[Vec<u32>], unit: u32| {
            let upper = channels.iter().filter(|bytes| bytes.iter().any(|byte| byte / unit > 0)).count();
            (channels.len() - upper, upper)
        };
        let is_far = |channels: &[Vec<u32>]| channels.iter().any(|bytes| bytes[0] >= 64);
        let mut broken = BTreeSet::new();
        // Rows that the execution size cuts off have no elements.
        if source.chunks_exact(usize::from(self.rows.1)).any(|row| registers(row).len() > 1) {
            broken.insert(Rule::RowCrossing);
        }
        if is_far(&source) {
            broken.insert(Rule::SourceSpan);
        }
        if is_far(&destination) {
            broken.insert(Rule::DestinationSpan);
            return broken;
        }
        let [from, to] =
            [&source, &destination].map(|channels| registers(channels).iter().any(|one| *one > 0));
        let graphics = platform.graphics();
        let (lower, upper) = halves(&destination, 16);
        if graphics <= 80 && from && !to && lower > 0 && upper > 0 && lower != upper {
            broken.insert(Rule::OwordSplit);
        }
        let (lower, upper) = halves(&destination, 32);
        if graphics <= 80 && to && lower != upper {
            broken.insert(Rule::RegisterSplit);
        }
        let is_upper = |bytes: &Vec<u32>| bytes.iter().any(|byte| byte / 32 > 0);
        let mut pairs = source.iter().zip(&destination);
        if graphics < 80 && from && to && pairs.any(|(from, to)| is_upper(from) != is_upper(to)) {
            broken.insert(Rule::RegisterPairing);
        }
        broken
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for channels in [1, 4, 8, 16] {
        for vertical in [0, 1, 2, 4, 8, 16] {
            for width in [1, 2, 4, 8] {
                for horizontal in [0, 1, 2, 4] {
                    for (kind, from, stride, to) in [
                        (Type::D, 0, 1, 0),
                        (Type::D, 4, 1, 4),
                        (Type::D, 16, 2, 8),
                        (Type::D, 8, 4, 0),
                        (Type::W, 0, 1, 4),
                        (Type::W, 6, 2, 2),
                        (Type::W, 16, 4, 0),
                        (Type::W, 30, 1, 0),
                        (Type::B, 0, 2, 2),
                        (Type::B, 17, 4, 0),
                    ] {
                        shapes.push(Shape {
                            channels,
                            kind,
                            rows: (vertical, width, horizontal),
                            from,
                            stride,
                            to,
                        });
                    }
                }
            }
        }
    }
    shapes
}

#[test]
fn regions_are_judged_by_their_bytes() {
    let mut seen = BTreeSet::new();
    for shape in shapes() {
        let Shape { channels, kind, rows, from, stride, to } = shape;
        let mov = op(Opcode::Mov, channels as u8).from(kind, rows).to(kind, stride as u8).with(|i| {
            i.offset(to as u8);
            *i.place(0) = Place::Direct { file: File::General, number: 2, offset: from as u8 };
        });
        for platform in [Platform::Hsw, Platform::Chv, Platform::Skl, Platform::Dg2] {
            let found: BTreeSet<_> = validate(platform, &mov)
                .iter()
                .map(|violation| violation.rule)
                .filter(|rule| JUDGED.contains(rule))
                .collect();
            assert_eq!(found, shape.broken(platform), "{platform}: {shape:?}");
            seen.extend(found);
        }
    }
    assert_eq!(seen, JUDGED.into_iter().collect(), "rules that some shape breaks");
}

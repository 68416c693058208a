//! The encodings of each generation, typed from Mesa's genxml, and not from the tables that are tested.

mod tables;
mod vertices;
mod walkers;

use std::sync::Arc;

use super::reader::Purpose::{self, State as Tables, Surface, Vertices};
use super::*;
use crate::gpu::GpuTimes;
use crate::gpu::commands::Privilege;
use crate::gpu::engines::{Engines, Pace};
use crate::gpu::memory::{Bindings, Named};
use crate::gpu::real_gpu::WriteLog;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::system::System;
use crate::kernel::spaces::AddressSpace;
use crate::kernel::spec::Spec;
use gem_coherency::platform::EngineClass;
use gem_coherency::policy::kernel::{Creation, Event, Snapshot};
use gem_coherency::vocabulary::MocsClass;

/// The address of the only object, and its size.
const HERE: u32 = 0x10_0000;
const SIZE: u64 = 0x2_0000;

/// A platform of each generation.
const PLATFORMS: [(&str, u16); 8] = [
    ("snb", 60),
    ("ivb", 70),
    ("hsw", 75),
    ("bdw", 80),
    ("glk", 90),
    ("jsl", 110),
    ("tgl", 120),
    ("dg2", 125),
];

const TRILIST: u32 = 4;

/// A watched device with an object.
struct Bench {
    engines: Engines,
    bindings: Bindings,
    generation: u16,
    pipeline: Pipeline,
    log: WriteLog,
}

impl Bench {
    fn new(name: &str, generation: u16) -> Self {
        let system = Arc::new(System::new(&Spec::parse(&format!("sim:{name}")).unwrap()));
        system.incoherent.switch(true);
        let snapshot = Snapshot::created(system.machine.caps, &system.rules, Creation::User).unwrap();
        let object = Object::new(&system, SIZE, snapshot);
        object.happen(&mut object.state(), "test", Event::Acquire).unwrap();
        let bindings = Bindings::new(
            AddressSpace::Bound(Arc::default()),
            [(HERE.into(), Named { object, is_written: false })].into_iter(),
        );
        let on =
            Streamer { machine: system.machine, engine: EngineClass::Render, privilege: Privilege::User };
        let pipeline = Pipeline::begin(&system, &on, &Images::default(), Lane::Slot(0));
        let engines = Engines::new(&system, Pace::Instant, GpuTimes::default());
        Self { engines, bindings, generation, pipeline, log: WriteLog::default() }
    }

    fn view(&self) -> View<'_> {
        let engine = EngineClass::Render;
        View { engines: &self.engines, bindings: &self.bindings, engine, log: &self.log }
    }

    fn write(&self, offset: u32, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.view().write(MocsClass::PageTable, (HERE + offset).into(), &bytes);
    }

    /// Follows commands, and returns the reads for a purpose: the offset in the object, and the number of bytes.
    fn run(&mut self, purpose: Purpose, commands: &[Vec<u32>]) -> Vec<(u64, u64)> {
        let engine = EngineClass::Render;
        let view = View { engines: &self.engines, bindings: &self.bindings, engine, log: &self.log };
        for words in commands {
            // A random shader may break a rule.
            let _refusal = self.pipeline.follow(&view, words);
        }
        let seen = std::mem::take(&mut self.followed().judged.seen);
        let of_purpose = seen.into_iter().filter(|(known, ..)| *known == purpose);
        of_purpose.map(|(_, _, start, len)| (start.wrapping_sub(HERE.into()), len)).collect()
    }

    fn followed(&mut self) -> &mut Followed {
        self.pipeline.followed.as_mut().unwrap()
    }

    fn is_wide(&self) -> bool {
        self.generation >= 80
    }

    /// 3DSTATE_VERTEX_BUFFERS with one buffer.
    fn vertex_buffer(&self, number: u32, offset: u32, size: u32, pitch: u32) -> Vec<u32> {
        let first = number << 26 | 1 << 14 | pitch;
        let start = HERE + offset;
        if self.is_wide() {
            vec![0x7808_0003, first, start, 0, size]
        } else {
            vec![0x7808_0003, first, start, start + size - 1, 0]
        }
    }

    /// 3DSTATE_INDEX_BUFFER.
    fn index_buffer(&self, format: u32, offset: u32, size: u32) -> Vec<u32> {
        let start = HERE + offset;
        if self.is_wide() {
            vec![0x780a_0003, format << 8, start, 0, size]
        } else {
            vec![0x780a_0001 | format << 8, start, start + size - 1]
        }
    }

    /// 3DSTATE_VF_TOPOLOGY, where the draw does not have it, and 3DPRIMITIVE.
    fn draw(&self, topology: u32, indexed: bool, rest: [u32; 5]) -> Vec<Vec<u32>> {
        let indexed = u32::from(indexed);
        let first = match self.generation {
            60 => vec![0x7b00_0004 | topology << 10 | indexed << 15],
            70 | 75 => vec![0x7b00_0005, topology | indexed << 8],
            _ => vec![0x7b00_0005, indexed << 8],
        };
        let mut commands = vec![[first, rest.to_vec()].concat()];
        if self.is_wide() {
            commands.insert(0, vec![0x784b_0000, topology]);
        }
        commands
    }
}

/// 3DSTATE_VERTEX_ELEMENTS of buffer, format, offset and the controls of the components.
fn elements(elements: &[(u32, u32, u32, u32)]) -> Vec<u32> {
    let mut words = vec![0x7809_0000 | (2 * elements.len() as u32 - 1)];
    for &(buffer, format, offset, controls) in elements {
        words.extend([buffer << 26 | 1 << 25 | format << 16 | offset, controls << 16]);
    }
    words
}

/// Controls: STORE_SRC is 1, STORE_0 is 2, STORE_1_FP is 3.
const TWO: u32 = 0x1123;
const THREE: u32 = 0x1113;
const R32G32_FLOAT: u32 = 0x85;
const R32G32B32_FLOAT: u32 = 0x40;
const B8G8R8A8_UNORM: u32 = 0xc0;

/// Calls `test` for each generation.
fn each(mut test: impl FnMut(&mut Bench)) {
    for (name, generation) in PLATFORMS {
        test(&mut Bench::new(name, generation));
    }
}

#[test]
fn the_limit_ends_reads_and_not_the_batch() {
    let mut bench = Bench::new("glk", 90);
    let mut commands = vec![bench.vertex_buffer(0, 0, u32::MAX, 64), elements(&[(0, R32G32_FLOAT, 0, TWO)])];
    commands.extend(bench.draw(1, false, [u32::MAX, 0, u32::MAX, 0, 0]));
    let first = bench.run(Vertices, &commands).len();
    assert!((1000..1 << 17).contains(&first), "{first}");
    assert!(bench.run(Vertices, &commands).is_empty());
}

#[test]
fn random_dwords_of_every_command_do_no_harm() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Small numbers, and addresses of the object, are more often of use than others.
        match random >> 60 {
            0..=3 => (random as u32) & 0xff,
            4..=7 => HERE + (random as u32 & 0x1_ffc0) + (random >> 40) as u32 % 2,
            _ => random as u32,
        }
    };
    let opcodes: Vec<u32> = (0x6100..=0x7fff).filter(|&opcode| is_followed(opcode << 16)).collect();
    assert!(opcodes.len() > 20, "{opcodes:x?}");
    each(|bench| {
        let words: Vec<u32> = (0..0x4000).map(|_| next()).collect();
        bench.write(0, &words);
        for _ in 0..4000 {
            let opcode = opcodes[next() as usize % opcodes.len()];
            let len = next() as usize % 40;
            let mut command = vec![opcode << 16 | next() & 0x7ff];
            command.extend((0..len).map(|_| next()));
            bench.run(Vertices, &[command]);
            if next() % 64 == 0 {
                bench.followed().judged = Judged::default();
            }
        }
    });
}

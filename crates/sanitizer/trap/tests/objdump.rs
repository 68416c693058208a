//! The instructions found in the machine's libraries, against objdump's. Run it by hand:
//!
//! ```console
//! $ cargo test --release -p gem-coherency-trap --features symbols --test objdump -- --ignored --nocapture
//! ```
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", feature = "symbols"))]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gem_coherency_trap::scan::{Image, Search, scan};

/// Folders whose libraries are compared, if `GEM_COHERENCY_LIBRARIES` does not list files.
const FOLDERS: [&str; 3] =
    ["/usr/lib/x86_64-linux-gnu/dri", "/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu/intel-opencl"];
/// Beginnings of the names of libraries that drive a GPU, and of the C library.
const NAMES: [&str; 9] =
    ["libvulkan_", "libdrm", "libigt", "libgbm", "libc.so", "libGL", "libEGL", "i965", "iris_dri"];

fn files() -> Vec<PathBuf> {
    if let Some(listed) = std::env::var_os("GEM_COHERENCY_LIBRARIES") {
        return std::env::split_paths(&listed).collect();
    }
    let entries = FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.contains(".so") && NAMES.iter().any(|start| name.starts_with(start))
        })
        .filter_map(|entry| entry.path().canonicalize().ok())
        .collect();
    files.sort();
    files.dedup();
    files
}

/// Addresses of the instructions that objdump prints.
fn disassembled(path: &Path) -> Vec<u64> {
    let mut objdump = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", "-M", "intel"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs objdump");
    let lines = BufReader::new(objdump.stdout.take().unwrap()).lines();
    let mnemonics = [
        "clflush",
        "clflushopt",
        "clwb",
        "movnti",
        "movntq",
        "movntdq",
        "movntps",
        "movntpd",
        "movntss",
        "movntsd",
        "vmovntdq",
        "vmovntps",
        "vmovntpd",
        "sfence",
        "mfence",
    ];
    let mut found = Vec::new();
    for line in lines.map_while(Result::ok) {
        let Some((address, text)) = line.split_once(":\t") else { continue };
        let is_one = text.split_whitespace().any(|word| mnemonics.contains(&word));
        if is_one && (text.contains("rip") || !text.contains('<')) {
            found.extend(u64::from_str_radix(address.trim(), 16));
        }
    }
    assert!(objdump.wait().unwrap().success());
    found
}

#[test]
#[ignore = "disassembles the machine's libraries: minutes"]
fn the_same_instructions_as_objdump() {
    let files = files();
    assert!(!files.is_empty(), "no library to compare");
    for path in files {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let Some(image) = Image::of_file(&bytes) else { continue };
        let found = scan(&image, Search::All);
        let ours: Vec<_> = found.instructions.iter().map(|instruction| instruction.address).collect();
        let theirs = disassembled(&path);
        let only = |one: &[u64], other: &[u64]| {
            one.iter()
                .filter(|address| !other.contains(address))
                .map(|address| format!("{address:#x}"))
                .collect::<Vec<_>>()
        };
        println!(
            "{}: {}, objdump {}; only here: {:?}; only there: {:?}; doubtful: {:x?}",
            path.display(),
            ours.len(),
            theirs.len(),
            only(&ours, &theirs),
            only(&theirs, &ours),
            found.doubtful
        );
        // objdump decodes data, too, and code without unwind tables; what is found here it must print.
        assert_eq!(only(&ours, &theirs), [""; 0], "{}", path.display());
    }
}

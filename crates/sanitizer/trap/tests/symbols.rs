//! Functions, files and lines from DWARF, separate debug files and symbol tables.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", feature = "symbols"))]

mod libraries;

use std::path::{Path, PathBuf};
use std::process::Command;

use gem_coherency_trap::scan::{Image, Search, scan};
use gem_coherency_trap::symbols::Symbols;
use libraries::compile;

const SOURCE: &str = "static inline __attribute__((always_inline)) void flush_line(char *at) {
    __asm__ volatile (\"clflush %0\" : \"+m\" (*at));
}
static __attribute__((noinline)) void hidden(char *at) {
    flush_line(at);
}
void exported(char *at) {
    hidden(at);
    flush_line(at + 64);
}
";

/// Addresses of the flushes in a file.
fn flushes(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let image = Image::of_file(&bytes).expect("an ELF file");
    scan(&image, Search::Flushes).instructions.iter().map(|found| found.address).collect()
}

fn objcopy(arguments: &[&Path]) {
    let output = Command::new("objcopy").args(arguments).output().expect("these tests need objcopy");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn check(symbols: &mut Symbols, path: &Path, at: &[u64]) {
    let places: Vec<_> = symbols.resolve_inlined(path, at[0]);
    let functions: Vec<_> = places.iter().map(|place| place.function.clone().unwrap()).collect();
    assert_eq!(functions, ["flush_line", "hidden"]);
    assert_eq!(places.iter().map(|place| place.line).collect::<Vec<_>>(), [Some(2), Some(5)]);
    assert!(places[0].file.as_ref().unwrap().ends_with(".c"));
    assert!(places[0].to_string().contains("flush_line at /"), "{}", places[0]);
    let outer = symbols.resolve_inlined(path, at[1]);
    assert_eq!(outer[1].function.as_deref(), Some("exported"));
    assert_eq!(outer[1].line, Some(9));
}

fn built(name: &str, flags: &[&str]) -> (PathBuf, Vec<u64>) {
    let path = compile(name, "c", SOURCE, flags);
    let at = flushes(&path);
    assert_eq!(at.len(), 2);
    (path, at)
}

#[test]
fn dwarf_names_inlined_functions_and_lines() {
    let (path, at) = built("with_dwarf", &["-g"]);
    check(&mut Symbols::new(), &path, &at);
}

#[test]
fn a_separate_debug_file_is_found_by_link_and_by_build_id() {
    let (path, at) = built("separate", &["-g", "-Wl,--build-id=0x0123456789abcdef"]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let debug = folder.join("libseparate.so.debug");
    objcopy(&[Path::new("--only-keep-debug"), Path::new("--compress-debug-sections"), &path, &debug]);
    // By .gnu_debuglink, beside the file.
    let linked = folder.join("liblinked.so");
    let mut option = std::ffi::OsString::from("--add-gnu-debuglink=");
    option.push(&debug);
    objcopy(&[Path::new("--strip-all"), Path::new(&option), &path, &linked]);
    check(&mut Symbols::new(), &linked, &at);
    // By build ID.
    let stripped = folder.join("libstripped.so");
    objcopy(&[Path::new("--strip-all"), &path, &stripped]);
    let root = folder.join("debug-root");
    std::fs::create_dir_all(root.join(".build-id/01")).unwrap();
    std::fs::copy(&debug, root.join(".build-id/01/23456789abcdef.debug")).unwrap();
    check(&mut Symbols::with_debug_folder(&root), &stripped, &at);

    // The twin: without the file only the dynamic symbol is known, by its size.
    let mut symbols = Symbols::with_debug_folder(folder.join("none"));
    let place = symbols.resolve(&stripped, at[1]);
    assert_eq!((place.function.as_deref(), place.line), (Some("exported"), None));
    let place = symbols.resolve(&stripped, at[0]);
    assert_eq!(place.function, None);
    assert_eq!(place.to_string(), format!("libstripped.so+{:#x}", at[0]));
}

#[test]
fn symbol_tables_name_functions_without_dwarf() {
    let (path, at) = built("without_dwarf", &["-g0"]);
    let mut symbols = Symbols::new();
    assert_eq!(symbols.resolve(&path, at[0]).function.as_deref(), Some("hidden"));
    assert_eq!(symbols.resolve(&path, at[1]).to_string(), "exported");
    // Behind the last function, in the same page.
    assert_eq!(symbols.resolve(&path, at[1] + 0x400).function, None);
    assert_eq!(symbols.resolve(Path::new("/none"), 16).to_string(), "none+0x10");
    let mangled = compile(
        "mangled",
        "s",
        ".text\n.globl _ZN3gem5flushEv\n.type _ZN3gem5flushEv,@function\n_ZN3gem5flushEv: ret\n.size _ZN3gem5flushEv, 1\n.section .note.GNU-stack,\"\"\n",
        &[],
    );
    let place =
        (0x1000..0x1200).map(|at| symbols.resolve(&mangled, at)).find(|place| place.function.is_some());
    assert!(place.is_some_and(|place| place.function.unwrap().starts_with("gem::flush")));
}

/// Bytes that look random, and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn malformed_files_are_no_panic() {
    let (path, at) = built("malformed", &["-g0"]);
    let file = std::fs::read(&path).unwrap();
    let mut random = Random(1);
    let mut lost = 0;
    for turn in 0..3000 {
        let mut bytes = file.clone();
        for _ in 0..1 + turn % 20 {
            // Half of them in the headers of the file.
            let limit = if random.below(2) == 0 { 1024 } else { bytes.len() };
            let place = random.below(limit);
            bytes[place] = [0, 0xff, random.below(256) as u8][random.below(3)];
        }
        if random.below(10) == 0 {
            bytes.truncate(random.below(file.len()));
        }
        let found = Image::of_file(&bytes).map(|image| scan(&image, Search::FlushesAndStores));
        lost += usize::from(found.is_none_or(|found| found.instructions.len() != at.len()));
    }
    // The twin: the damage is enough to matter, and not always.
    assert!((100..2900).contains(&lost), "{lost}");
}

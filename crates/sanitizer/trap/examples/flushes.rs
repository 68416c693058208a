//! Lists the flush instructions of programs and libraries, with function and line; with `--stores`, non-temporal stores, too.
//!
//! ```console
//! $ cargo run --release -p gem-coherency-trap --features symbols --example flushes -- /usr/lib/x86_64-linux-gnu/libvulkan_intel.so
//! ```
#![cfg_attr(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")), allow(unused))]

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    use gem_coherency_trap::scan::Search;

    let (options, files): (Vec<_>, Vec<_>) =
        std::env::args_os().skip(1).partition(|argument| argument.to_string_lossy().starts_with("--"));
    if files.is_empty() || options.iter().any(|option| option != "--stores") {
        eprintln!("flushes [--stores] FILE...: lists the cache flushes of ELF files, with function and line");
        return ExitCode::from(2);
    }
    let search = if options.is_empty() { Search::Flushes } else { Search::FlushesAndStores };
    match list::all(&files, search) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flushes: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn main() {}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod list {
    use std::ffi::OsString;
    use std::io::{self, Write};
    use std::path::Path;
    use std::time::Instant;

    use gem_coherency_trap::scan::{Image, Search, scan};
    use gem_coherency_trap::symbols::Symbols;

    /// Lists the instructions of each file. Returns false if one cannot be read; an error says that the output failed.
    pub fn all(files: &[OsString], search: Search) -> io::Result<bool> {
        let mut out = io::stdout().lock();
        let mut symbols = Symbols::new();
        let mut complete = true;
        for path in files.iter().map(Path::new) {
            match std::fs::read(path) {
                Ok(bytes) => complete &= one(path, &bytes, search, &mut symbols, &mut out)?,
                Err(error) => {
                    eprintln!("{}: {error}", path.display());
                    complete = false;
                }
            }
        }
        Ok(complete)
    }

    fn one(
        path: &Path,
        bytes: &[u8],
        search: Search,
        symbols: &mut Symbols,
        out: &mut impl Write,
    ) -> io::Result<bool> {
        let Some(image) = Image::of_file(bytes) else {
            eprintln!("{}: not an ELF file for x86-64", path.display());
            return Ok(false);
        };
        let start = Instant::now();
        let found = scan(&image, search);
        let (count, doubtful, milliseconds) =
            (found.instructions.len(), found.doubtful.len(), start.elapsed().as_secs_f64() * 1e3);
        let kilobytes = found.bytes >> 10;
        writeln!(
            out,
            "{}: {count} instructions, {doubtful} doubtful; {kilobytes} KiB of code in {milliseconds:.2} ms",
            path.display()
        )?;
        for instruction in &found.instructions {
            let place = symbols.resolve(path, instruction.address);
            writeln!(out, "  {:#x} {:?} {place}", instruction.address, instruction.operation.kind())?;
        }
        for &address in &found.doubtful {
            writeln!(out, "  {address:#x} doubtful {}", symbols.resolve(path, address))?;
        }
        Ok(true)
    }
}

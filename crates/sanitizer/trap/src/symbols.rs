//! Functions, files and lines of addresses, from DWARF and symbol tables of files.
//!
//! Not for handlers of signals: it allocates and reads files.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use addr2line::{Loader, demangle_auto};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadCache, ReadRef, SymbolIndex, SymbolKind,
};

/// A place in a program's source, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File of the object.
    pub module: PathBuf,
    /// Address in that file.
    pub link_address: u64,
    /// Function, demangled.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line of the source file, from 1 on.
    pub line: Option<u32>,
}

impl fmt::Display for Place {
    /// Writes `function at file:line`, without the parts that are not known, or `module+0xaddress`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => {
                let name = self.module.file_name().unwrap_or(self.module.as_os_str());
                write!(f, "{}+{:#x}", name.to_string_lossy(), self.link_address)?;
            }
        }
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " at {file}:{line}"),
            (Some(file), None) => write!(f, " in {file}"),
            (None, _) => Ok(()),
        }
    }
}

/// A symbol of a function, whose name is read when it is asked for: a driver has tens of thousands.
struct Named {
    start: u64,
    end: u64,
    /// The symbol is one of the debug file.
    is_separate: bool,
    is_dynamic: bool,
    index: SymbolIndex,
}

/// An object's tables.
#[derive(Default)]
struct Module {
    dwarf: Option<Loader>,
    separate: Option<PathBuf>,
    /// By address.
    names: Vec<Named>,
}

/// Resolves addresses. Keeps the tables of each object that it was asked about.
pub struct Symbols {
    modules: HashMap<PathBuf, Module>,
    debug_folder: PathBuf,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols")
            .field("modules", &self.modules.keys())
            .field("debug_folder", &self.debug_folder)
            .finish()
    }
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// Creates a resolver that looks for separate debug files below /usr/lib/debug.
    #[must_use]
    pub fn new() -> Self {
        Self::with_debug_folder("/usr/lib/debug")
    }

    /// Creates a resolver that looks for separate debug files below `folder`.
    #[must_use]
    pub fn with_debug_folder(folder: impl Into<PathBuf>) -> Self {
        Symbols { modules: HashMap::new(), debug_folder: folder.into() }
    }

    /// Returns the number of objects whose tables are kept.
    #[must_use]
    pub fn modules(&self) -> usize {
        self.modules.len()
    }

    /// Returns the place of an address of a file; a call that was inlined there counts as the place.
    ///
    /// DWARF of the file or of its debug file (by build ID, then by `.gnu_debuglink`) comes first, then its symbol table,
    /// then its dynamic symbol table. A symbol counts if its size covers the address. What is in none of them is `None`,
    /// also if the file cannot be read.
    pub fn resolve(&mut self, module: &Path, link_address: u64) -> Place {
        let unknown =
            || Place { module: module.to_owned(), link_address, function: None, file: None, line: None };
        self.resolve_inlined(module, link_address).into_iter().next().unwrap_or_else(unknown)
    }

    /// As [`Symbols::resolve`], followed by the functions that the place was inlined into, innermost first. The result is
    /// never empty.
    pub fn resolve_inlined(&mut self, module: &Path, link_address: u64) -> Vec<Place> {
        let tables = match self.modules.get(module) {
            Some(tables) => tables,
            None => {
                let tables = Module::read(module, &self.debug_folder).unwrap_or_default();
                self.modules.entry(module.to_owned()).or_insert(tables)
            }
        };
        let mut places = tables.frames(module, link_address);
        if places.is_empty() {
            let location = tables.dwarf.as_ref().and_then(|dwarf| dwarf.find_location(link_address).ok()?);
            let (file, line) = location.map_or((None, None), |location| (location.file, location.line));
            places.push(Place {
                module: module.to_owned(),
                link_address,
                function: None,
                file: file.map(str::to_owned),
                line,
            });
        }
        if let Some(outermost) = places.last_mut() {
            if outermost.function.is_none() {
                outermost.function = tables.name(module, link_address);
            }
        }
        places
    }
}

impl Module {
    /// Reads the tables of a file.
    fn read(path: &Path, debug_folder: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let separate = if has_dwarf(&file) { None } else { debug_file(path, &file, debug_folder) };
        let mut names = names(&file, false);
        if let Some(separate) = &separate {
            let cache = ReadCache::new(File::open(separate).ok()?);
            names
                .extend(object::File::parse(&cache).map(|file| self::names(&file, true)).unwrap_or_default());
        }
        names.sort_by_key(|named| named.start);
        let with_dwarf = separate.as_deref().or_else(|| has_dwarf(&file).then_some(path));
        let dwarf = with_dwarf.and_then(|path| Loader::new(path).ok());
        Some(Module { dwarf, separate, names })
    }

    /// Returns the frames of an address by DWARF, innermost first.
    fn frames(&self, module: &Path, link_address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let Some(mut frames) = self.dwarf.as_ref().and_then(|dwarf| dwarf.find_frames(link_address).ok())
        else {
            return places;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
            let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
            places.push(Place {
                module: module.to_owned(),
                link_address,
                function: function.map(|name| name.into_owned()),
                file: file.map(str::to_owned),
                line,
            });
        }
        places
    }

    /// Returns the function that covers an address, by symbol tables.
    fn name(&self, path: &Path, link_address: u64) -> Option<String> {
        let count = self.names.partition_point(|named| named.start <= link_address);
        // Several symbols may begin at the same address, and a short one may lie inside of a long one.
        let near = self.names.get(count.saturating_sub(8)..count)?;
        let named = near.iter().rev().find(|named| link_address < named.end)?;
        let path = if named.is_separate { self.separate.as_deref()? } else { path };
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let table = if named.is_dynamic { file.dynamic_symbol_table()? } else { file.symbol_table()? };
        let symbol = table.symbol_by_index(named.index).ok()?;
        Some(demangle_auto(symbol.name().ok()?.into(), None).into_owned())
    }
}

/// True if the file has DWARF.
fn has_dwarf<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> bool {
    file.section_by_name(".debug_info").is_some_and(|section| section.size() > 0)
        && file.section_by_name(".debug_line").is_some_and(|section| section.size() > 0)
}

/// Returns the symbols of functions in both symbol tables of a file.
fn names<'data, R: ReadRef<'data>>(file: &object::File<'data, R>, is_separate: bool) -> Vec<Named> {
    let own = file.symbols().map(|symbol| (false, symbol));
    own.chain(file.dynamic_symbols().map(|symbol| (true, symbol)))
        .filter(|(_, it)| it.kind() == SymbolKind::Text && it.is_definition() && it.size() > 0)
        .filter_map(|(is_dynamic, symbol)| {
            let start = symbol.address();
            let end = start.checked_add(symbol.size())?;
            Some(Named { start, end, is_separate, is_dynamic, index: symbol.index() })
        })
        .collect()
}

/// Returns the separate debug file of a file, in the places where GDB looks ("Separate Debug Files"): by build ID, then
/// by `.gnu_debuglink`. A file with another build ID is another build's.
fn debug_file<'data, R: ReadRef<'data>>(
    path: &Path,
    file: &object::File<'data, R>,
    debug_folder: &Path,
) -> Option<PathBuf> {
    let build_id = file.build_id().ok().flatten();
    let by_id = build_id.and_then(|id| id.split_first()).map(|(first, rest)| {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        debug_folder.join(format!(".build-id/{first:02x}/{rest}.debug"))
    });
    let real = path.canonicalize().ok()?;
    let folder = real.parent()?;
    let by_link = file.gnu_debuglink().ok().flatten().and_then(|(name, _)| std::str::from_utf8(name).ok());
    let by_link = by_link.into_iter().flat_map(|name| {
        let below = debug_folder.join(folder.strip_prefix("/").unwrap_or(folder));
        [folder.join(name), folder.join(".debug").join(name), below.join(name)]
    });
    by_id
        .into_iter()
        .chain(by_link)
        .find(|candidate| *candidate != real && is_debug_file(candidate, build_id))
}

/// True if the file has DWARF, and the build ID, if there is one.
fn is_debug_file(path: &Path, build_id: Option<&[u8]>) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return false };
    has_dwarf(&file) && file.build_id().ok().flatten() == build_id
}

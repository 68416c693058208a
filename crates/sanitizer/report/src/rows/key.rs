//! The key of a finding, by which a baseline knows it.

use gem_coherency::vocabulary::CacheLevel;
use gem_coherency_memory_model::Mistake;

use crate::rows::places::PlaceRow;

/// What is not known in a key.
const UNKNOWN: &str = "?";

/// Most places of a key.
const MOST_PLACES: usize = 4;

/// Returns the key of a finding: what stays the same when its program is built again.
///
/// The place is that of the load, of the store, or else of the request: its module, a colon, and functions up to the first one that called the
/// module, because many programs may call a driver. In a module without symbols, `?` stands for them.
pub(crate) fn key(
    kind: Mistake,
    agent: Option<&str>,
    level: CacheLevel,
    [load, store, request]: [&[PlaceRow]; 3],
) -> String {
    let word = |text: &str| text.replace(' ', "-");
    let agent = agent.map_or_else(|| UNKNOWN.to_owned(), word);
    let stack = [load, store, request].into_iter().find(|stack| !stack.is_empty()).unwrap_or_default();
    let stack: Vec<&PlaceRow> = stack.iter().filter(|place| !is_of_libc(place)).collect();
    let first = stack.first().map_or("", |first| &first.module);
    let callers = stack.iter().position(|place| place.module != first && place.function.is_some());
    let mut places: Vec<&str> = Vec::new();
    for place in stack.iter().take(callers.map_or(stack.len(), |at| at + 1)) {
        places.push(match &place.function {
            Some(function) => without_suffix(function),
            None if place.module == first => UNKNOWN,
            None => module(&place.module),
        });
    }
    places.dedup();
    places.truncate(MOST_PLACES);
    if places.is_empty() {
        places.push(UNKNOWN);
    }
    let (kind, level) = (word(kind.name()), word(&level.to_string()));
    format!("{kind} {agent} {level} {}: {}", module(first), places.join(" < "))
}

/// Returns whether a place is in libc, in its start of the program, or in the dynamic linker.
fn is_of_libc(place: &PlaceRow) -> bool {
    let name = place.module.rsplit('/').next().unwrap_or(&place.module);
    name.starts_with("libc.so") || name.starts_with("ld-linux") || place.function.as_deref() == Some("_start")
}

/// Returns the name of a module: `libgallium` of `/usr/lib/libgallium-26.2.6-1.so`.
fn module(path: &str) -> &str {
    let name = without_version(path.rsplit('/').next().unwrap_or(path));
    if name.is_empty() { UNKNOWN } else { name }
}

/// Returns a function without what a compiler adds: `upload.part.0`, `main::h0123456789abcdef`.
fn without_suffix(function: &str) -> &str {
    let function = match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => function,
    };
    let clones = [".part.", ".constprop.", ".isra.", ".cold", ".lto_priv.", ".llvm."];
    let end = clones.iter().filter_map(|clone| function.find(clone)).min().unwrap_or(function.len());
    function.get(..end).unwrap_or(function)
}

/// Returns a library's name without its version: `libgallium` of `libgallium-26.2.6-1.so`.
fn without_version(module: &str) -> &str {
    let Some((name, _)) = module.split_once(".so") else { return module };
    let digits = |&(_, rest): &(&str, &str)| rest.starts_with(|first: char| first.is_ascii_digit());
    name.split_once('-').filter(digits).map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(module: &str, function: Option<&str>) -> PlaceRow {
        let function = function.map(str::to_owned);
        PlaceRow { function, file: None, line: None, module: format!("/usr/lib/{module}"), address: 1 }
    }

    #[test]
    fn a_place_is_up_to_the_first_function_that_called_the_module() {
        let of = |load: &[PlaceRow], store: &[PlaceRow]| {
            key(Mistake::StaleRead, Some("display engine"), CacheLevel::None, [load, store, &[]])
        };
        let driver = at("libvulkan_intel-22.so", None);
        let stack = [
            driver.clone(),
            driver,
            at("libvulkan.so.1", None),
            at("libvulkan.so.1", Some("vkCreateDevice")),
        ];
        let stack = [&stack[..], &[at("app", Some("main"))]].concat();
        let expected = "stale-read display-engine none libvulkan_intel: ? < libvulkan < vkCreateDevice";
        assert_eq!(of(&[], &stack), expected);
        let by_libc = [&[at("libc.so.6", Some("memcpy"))], &stack[..]].concat();
        assert_eq!(of(&[], &by_libc), expected);
        let own = ["f", "g", "g", "h", "i", "_start"].map(|name| at("app", Some(name)));
        assert_eq!(of(&own, &stack), "stale-read display-engine none app: f < g < h < i");
        assert_eq!(of(&[], &[]), "stale-read display-engine none ?: ?");
    }

    #[test]
    fn names_stay_when_a_program_is_built_again() {
        for (one, other) in [
            ("upload.part.0", "upload"),
            ("upload.constprop.0.isra.0", "upload"),
            ("app::upload::h0123456789abcdef", "app::upload"),
            ("app::upload::here", "app::upload::here"),
        ] {
            assert_eq!(without_suffix(one), other);
        }
        for (one, other) in [
            ("libgallium-26.2.6-1.so", "libgallium"),
            ("libvulkan_intel.so", "libvulkan_intel"),
            ("libX11-xcb.so.1", "libX11-xcb"),
            ("app-1.0", "app-1.0"),
        ] {
            assert_eq!(without_version(one), other);
        }
    }
}

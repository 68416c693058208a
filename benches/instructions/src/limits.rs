//! The limits, as `limits.txt` has them.

use super::Result;

const FILE: &str = include_str!("../limits.txt");

/// The number of instructions that a case may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) instructions: u64,
}

/// The limits of the cases `names`, in their order.
///
/// # Errors
/// A case without a limit, or a limit without a case.
pub(super) fn read(names: &[&str]) -> Result<Vec<Limit>> {
    parse(FILE, names)
}

fn parse(file: &str, names: &[&str]) -> Result<Vec<Limit>> {
    let mut rows = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, limit) = line.rsplit_once(' ').ok_or_else(|| format!("no limit in '{line}'"))?;
        let name = name.trim_end();
        let instructions = limit.parse().map_err(|error| format!("'{line}': {error}"))?;
        if !names.contains(&name) {
            return Err(format!("no case is called '{name}'").into());
        }
        rows.push((name, Limit { instructions }));
    }
    let limit = |name: &&str| rows.iter().find(|row| row.0 == *name).map(|row| row.1);
    names.iter().map(|name| limit(name).ok_or_else(|| format!("no limit for '{name}'").into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_found_by_name() {
        let limits = parse("# head\n\nb  c   7\na 1\n", &["a", "b  c"]).unwrap();
        assert_eq!(limits, [Limit { instructions: 1 }, Limit { instructions: 7 }]);
    }

    #[test]
    fn a_case_without_a_limit_and_a_limit_without_a_case_are_errors() {
        for file in ["", "b 1\n", "a 1\nb 1\n", "a\n", "a -1\n"] {
            assert!(parse(file, &["a"]).is_err(), "{file:?}");
        }
    }
}

//! The names of a shader's surfaces: `0`, `1.2`, `push`, `in0`, `out0`.

use std::fmt;
use std::str::FromStr;

use gem_shader_compiler::{Binding, SurfaceUse};
use serde::{Serialize, Serializer};

/// A surface of a shader, by what the shader declares it as. Its text is `BINDING` or `SET.BINDING` for a buffer, `push` for the push
/// constants, and `inLOCATION` or `outLOCATION` for an input or output of a fragment shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(pub Binding);

/// Describes a surface: `the shader reads and writes binding 1`.
pub fn described(used: &SurfaceUse) -> String {
    let does = match (used.reads, used.writes) {
        (true, true) => "reads and writes",
        (false, true) => "writes",
        (true, false) => "reads",
        (false, false) => "declares",
    };
    let what = match used.binding {
        Binding::Buffer { set: 0, binding } => format!("binding {binding}"),
        Binding::Buffer { set, binding } => format!("binding {binding} of set {set}"),
        Binding::Push => "push constants".to_owned(),
        Binding::Input { location } => format!("the input at location {location}"),
        Binding::Output { location } => format!("the output at location {location}"),
    };
    format!("the shader {does} {what}")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Binding::Buffer { set: 0, binding } => write!(f, "{binding}"),
            Binding::Buffer { set, binding } => write!(f, "{set}.{binding}"),
            Binding::Push => f.write_str("push"),
            Binding::Input { location } => write!(f, "in{location}"),
            Binding::Output { location } => write!(f, "out{location}"),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|_| !digits.starts_with('+'));
        let found = if text == "push" {
            Some(Binding::Push)
        } else if let Some(location) = text.strip_prefix("in") {
            number(location).map(|location| Binding::Input { location })
        } else if let Some(location) = text.strip_prefix("out") {
            number(location).map(|location| Binding::Output { location })
        } else {
            let (set, binding) = text.split_once('.').unwrap_or(("0", text));
            let both = number(set).zip(number(binding));
            both.map(|(set, binding)| Binding::Buffer { set, binding })
        };
        let known = "BINDING, SET.BINDING, push, inLOCATION, outLOCATION";
        found.map(Self).ok_or_else(|| format!("'{text}' is no binding of a shader ({known})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (text, binding) in [
            ("0", Binding::Buffer { set: 0, binding: 0 }),
            ("1.20", Binding::Buffer { set: 1, binding: 20 }),
            ("push", Binding::Push),
            ("in3", Binding::Input { location: 3 }),
            ("out0", Binding::Output { location: 0 }),
        ] {
            assert_eq!(text.parse(), Ok(Place(binding)));
            assert_eq!(Place(binding).to_string(), text);
        }
        assert_eq!("0.7".parse::<Place>().map(|place| place.to_string()), Ok("7".to_owned()));
    }

    #[test]
    fn other_names_are_refused_with_the_known_forms() {
        for text in ["", "-1", "+1", "1.", ".1", "1.2.3", "in", "out-1", "pushed", "4294967296", "a"] {
            let why = text.parse::<Place>().unwrap_err();
            assert!(why.contains("SET.BINDING") && why.contains(&format!("'{text}'")), "{why}");
        }
    }
}

//! Text forms of the kernel's objects and of their earlier events.

use std::fmt;
use std::str::FromStr;

use gem_coherency::Unknown;
use gem_coherency::policy::kernel::{Creation, Event};
use serde::Serialize;

/// The kind of an object, by its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object(pub Creation);

impl Object {
    /// Every object except those with their own PAT index.
    const PLAIN: [Self; 7] = [
        Self(Creation::User),
        Self(Creation::Userptr),
        Self(Creation::Import),
        Self(Creation::Internal),
        Self(Creation::Stolen),
        Self(Creation::Phys),
        Self(Creation::Local),
    ];
}

impl FromStr for Object {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(index) = text.strip_prefix("pat:") {
            let index = index.parse().map_err(|_| format!("'{index}' is not a PAT index (0 to 255)"))?;
            return Ok(Self(Creation::UserWithPat(index)));
        }
        let known = Self::PLAIN.map(|object| object.to_string());
        let found = known.iter().zip(Self::PLAIN).find(|(word, _)| *word == text);
        found
            .map(|(_, object)| object)
            .ok_or(format!("unknown object (known: {}, pat:INDEX)", known.join(", ")))
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Creation::User => "user",
            Creation::Userptr => "userptr",
            Creation::Import => "import",
            Creation::Internal => "internal",
            Creation::Stolen => "stolen",
            Creation::Phys => "phys",
            Creation::Local => "local",
            Creation::UserWithPat(index) => return write!(f, "pat:{index}"),
        })
    }
}

impl Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Earlier events, in order; empty for a fresh object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(pub Vec<Event>);

impl FromStr for History {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        if text == "fresh" {
            return Ok(Self::default());
        }
        text.split(',').map(|word| word.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|event| event.name()).collect();
        f.write_str(if words.is_empty() { "fresh" } else { "" })?;
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_round_trip() {
        for object in Object::PLAIN.into_iter().chain([Object(Creation::UserWithPat(4))]) {
            assert_eq!(object.to_string().parse::<Object>().unwrap(), object);
        }
        for text in ["", "pat:", "pat:-1", "pat:256", "User"] {
            assert!(text.parse::<Object>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_history_is_fresh_or_a_list_of_events() {
        for text in ["fresh", "acquire", "acquire,exec-write"] {
            assert_eq!(text.parse::<History>().unwrap().to_string(), text);
        }
        for text in ["", "acquire,", "acquire,fresh", "aquire"] {
            assert!(text.parse::<History>().is_err(), "{text}");
        }
    }
}

//! The platforms by which a run is judged.

use std::str::FromStr;

use gem_coherency::platform::{Platform, all, by_name};

/// Platforms: `all`, or names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judges(pub Vec<&'static Platform>);

impl FromStr for Judges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(all().to_vec()));
        }
        let mut platforms: Vec<&'static Platform> = Vec::new();
        for name in text.split(',') {
            let platform = by_name(name).map_err(|unknown| unknown.to_string())?;
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        Ok(Self(platforms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_platforms_once() {
        let names = |text: &str| {
            text.parse::<Judges>().map(|it| it.0.iter().map(|platform| platform.name).collect::<Vec<_>>())
        };
        assert_eq!(names("chv,glk,chv").unwrap(), ["chv", "glk"]);
        assert_eq!(names("all").unwrap().len(), all().len());
        assert!(names("chv,foo").unwrap_err().contains("foo"));
        assert!(names("").is_err() && names("chv,").is_err());
    }
}

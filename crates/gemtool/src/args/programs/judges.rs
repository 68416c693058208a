//! The platforms by which a run is judged.

use std::str::FromStr;

use gem_coherency::platform::{Platform, by_name};

/// The name that stands for every platform.
const ALL: &str = "all";

/// Platforms that judge a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judges {
    /// Every platform that i915 of the kernel claims; other names beside `all` add none.
    All,
    /// These.
    Named(Vec<&'static Platform>),
}

impl FromStr for Judges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut platforms: Vec<&'static Platform> = Vec::new();
        for name in text.split(',').filter(|name| *name != ALL) {
            let platform = by_name(name).map_err(|unknown| unknown.to_string())?;
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        Ok(if text.split(',').any(|name| name == ALL) { Self::All } else { Self::Named(platforms) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stands_for_every_platform_and_the_names_beside_it_have_to_exist() {
        assert_eq!("all".parse(), Ok(Judges::All));
        assert_eq!("glk,all".parse(), Ok(Judges::All));
        let named: Judges = "glk,jsl,glk".parse().unwrap();
        assert!(matches!(&named, Judges::Named(platforms) if platforms.len() == 2), "{named:?}");
        assert!("all,tomato".parse::<Judges>().unwrap_err().contains("tomato"));
        assert!("glk,lnl".parse::<Judges>().unwrap_err().contains("Lunar Lake is driven by xe"));
    }
}

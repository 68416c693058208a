//! The platforms by which a run is judged.

use std::str::FromStr;

use gem_coherency::platform::{Platform, by_name};

/// Platforms that judge a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judges {
    /// Every platform that the kernel claims.
    All,
    /// These.
    Named(Vec<&'static Platform>),
}

impl FromStr for Judges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let mut platforms: Vec<&'static Platform> = Vec::new();
        for name in text.split(',') {
            let platform = by_name(name).map_err(|unknown| unknown.to_string())?;
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        Ok(Self::Named(platforms))
    }
}

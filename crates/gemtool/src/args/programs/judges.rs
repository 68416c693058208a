//! The platforms by which a run is judged.

use std::str::FromStr;

use gem_coherency::Unknown;
use gem_coherency::platform::{Platform, all, by_name};
use gem_coherency::vocabulary::KernelVersion;

/// Platforms that judge a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judges {
    /// Every platform that the kernel claims.
    All,
    /// These.
    Named(Vec<&'static Platform>),
}

impl Judges {
    /// Returns the platforms, under the kernels of the run's devices.
    ///
    /// # Errors
    /// A kernel that does not claim a named platform.
    pub fn under(&self, kernels: &[KernelVersion]) -> Result<Vec<&'static Platform>, Unknown> {
        let claimed = |platform: &'static Platform| {
            kernels.iter().try_fold(platform, |platform, &kernel| platform.claimed_by(kernel))
        };
        match self {
            Self::All => Ok(all().iter().filter_map(|platform| claimed(platform).ok()).collect()),
            Self::Named(platforms) => platforms.iter().map(|platform| claimed(platform)).collect(),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_platforms_once() {
        let names = |text: &str, kernel| {
            let judges: Judges = text.parse()?;
            let platforms = judges.under(&[kernel]).map_err(|unknown| unknown.to_string())?;
            Ok::<_, String>(platforms.iter().map(|platform| platform.name).collect::<Vec<_>>())
        };
        let [old, new] = [(5, 10), (6, 12)].map(|(major, minor)| KernelVersion::new(major, minor));
        assert_eq!(names("chv,glk,chv", new).unwrap(), ["chv", "glk"]);
        assert_eq!(names("all", new).unwrap().len(), all().len());
        assert_eq!(names("all", old).unwrap().last(), Some(&"rkl"));
        assert!(names("glk,dg2", old).unwrap_err().contains("does not claim dg2"));
        assert!(names("chv,foo", new).unwrap_err().contains("foo"));
        assert!(names("", new).is_err() && names("chv,", new).is_err());
    }
}

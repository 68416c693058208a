//! The platforms by which a run is judged.

use std::str::FromStr;

use gem_coherency::platform::{self, Driver};
use gem_coherency::xe;

/// The name that stands for every platform.
const ALL: &str = "all";

/// Platforms that judge a run, under the run's kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// Every platform that the kernel's driver claims; `None` is the driver of the run's devices.
    pub all: Vec<Option<Driver>>,
    /// These, by their short names, each under a driver.
    pub named: Vec<(Driver, &'static str)>,
}

/// A name of the list, before its setting is known.
#[derive(Clone, Copy)]
struct Named<'a> {
    name: &'a str,
    driver: Option<Driver>,
}

impl FromStr for Judges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut list: Vec<Named<'_>> = Vec::new();
        for word in text.split(',') {
            match (word.split_once('='), list.last_mut()) {
                (None, _) => list.push(Named { name: word, driver: None }),
                (Some(_), None) => return Err(format!("'{word}': of which platform?")),
                (Some(("driver", _)), Some(Named { name, driver: Some(_) })) => {
                    return Err(format!("{name}: 'driver' is given twice"));
                }
                (Some(("driver", value)), Some(named)) => {
                    named.driver =
                        Some(value.parse().map_err(|unknown: gem_coherency::Unknown| unknown.to_string())?);
                }
                (Some(("kernel", _)), Some(Named { name, .. })) => {
                    return Err(format!(
                        "{name},{word}: a platform judges under the kernel of the run: give kernel= to the device"
                    ));
                }
                (Some(_), Some(Named { name, .. })) => {
                    return Err(format!(
                        "{name},{word}: a platform that judges has the setting driver= alone"
                    ));
                }
            }
        }
        let mut judges = Self::default();
        for named in list {
            judges.add(named)?;
        }
        Ok(judges)
    }
}

impl Judges {
    fn add(&mut self, Named { name, driver }: Named<'_>) -> Result<(), String> {
        if name == ALL {
            if !self.all.contains(&driver) {
                self.all.push(driver);
            }
            return Ok(());
        }
        let of_i915 = || platform::by_name(name).map(|platform| (Driver::I915, platform.name));
        let of_xe = || xe::by_name(name).map(|platform| (Driver::Xe, platform.name()));
        let found = match driver {
            Some(Driver::I915) => of_i915(),
            Some(Driver::Xe) => of_xe(),
            // As of a device: xe alone drives what i915 does not know.
            None => of_i915().or_else(|unknown| of_xe().map_err(|_| unknown)),
        };
        let found = found.map_err(|unknown| unknown.to_string())?;
        if !self.named.contains(&found) {
            self.named.push(found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judges(text: &str) -> Judges {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn all_stands_for_every_platform_of_a_driver_and_the_names_beside_it_have_to_exist() {
        assert_eq!(judges("all"), Judges { all: vec![None], named: vec![] });
        assert_eq!(judges("all,driver=xe,all").all, [Some(Driver::Xe), None]);
        assert_eq!(judges("glk,all"), Judges { all: vec![None], named: vec![(Driver::I915, "glk")] });
        assert_eq!(judges("glk,jsl,glk").named, [(Driver::I915, "glk"), (Driver::I915, "jsl")]);
        assert!("all,tomato".parse::<Judges>().unwrap_err().contains("tomato"));
    }

    #[test]
    fn a_driver_is_that_of_the_name_before_it() {
        let (i915, xe) = (Driver::I915, Driver::Xe);
        assert_eq!(judges("bmg,tgl,driver=xe,tgl").named, [(xe, "bmg"), (xe, "tgl"), (i915, "tgl")]);
        assert_eq!(judges("Lunar Lake,tgl,driver=i915").named, [(xe, "lnl"), (i915, "tgl")]);
        for (text, part) in [
            ("", "''"),
            ("lnl,", "''"),
            ("driver=xe", "of which platform"),
            ("glk,driver=xe", "xe"),
            ("lnl,driver=i915", "Lunar Lake is driven by xe"),
            ("tgl,driver=nouveau", "nouveau"),
            ("tgl,driver=xe,driver=xe", "twice"),
            ("lnl,kernel=7.2", "kernel= to the device"),
            ("lnl,without=cached-not-snooped", "driver= alone"),
        ] {
            let why = text.parse::<Judges>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}

//! The arguments of `gemtool sim` and `gemtool serve`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;

/// Shown under `gemtool sim --help`.
pub const SIM_EXAMPLES: &str = "\
The program sees the devices in /dev/dri, sysfs and its own descriptors, and nothing else of the machine \
changes. Its children see them, too. A program that is linked statically, or has privileges of its own \
(set-user-id), cannot be run.

DEVICES is a list of platforms, each with settings if need be: jsl | jsl,kernel=6.1 | jsl,tgl,kernel=6.1 \
(the setting is the second one's). `gemtool --help` lists the settings. The devices have displays, unless \
their settings say display=off.

A platform that xe alone drives is a device of xe (lnl | ptl | bmg); so is one that both drive, with \
driver=xe: tgl,driver=xe | jsl,dg2,driver=xe,kernel=6.12.

Exit status: the program's; 128 and the signal's number if a signal ended it; 2 if it cannot be run.

Examples:
  gemtool sim jsl -- vulkaninfo --summary
  gemtool sim glk,kernel=6.1 -- vainfo --display drm
  gemtool sim jsl,dg2 -- sh -c 'ls -l /dev/dri'";

/// Shown under `gemtool serve --help`.
pub const SERVE_EXAMPLES: &str = "\
Prints the environment that makes programs use the devices. All programs share them.

Examples:
  gemtool serve jsl --folder /tmp/jsl &
  LD_PRELOAD=/usr/lib/gem-coherency/libgem_coherency_preload.so \\
      GEM_COHERENCY_SERVER=/tmp/jsl vulkaninfo";

/// `gemtool sim`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Sim {
    /// The devices: a platform's name, or several, with settings
    #[arg(value_name = "DEVICES")]
    pub devices: Devices,

    /// Print the requests that were made, with their errors, on standard error at the end
    #[arg(long)]
    pub requests: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
}

/// `gemtool serve`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Serve {
    /// The devices: a platform's name, or several, with settings
    #[arg(value_name = "DEVICES")]
    pub devices: Devices,

    /// The folder of the socket and of what stands for /dev and /sys [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// A list of software devices, as `SimDevice::open` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices(pub Vec<String>);

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut devices: Vec<String> = Vec::new();
        for word in text.strip_prefix("sim:").unwrap_or(text).split(',') {
            match devices.last_mut() {
                _ if word.is_empty() => return Err("a platform's name is missing".to_owned()),
                Some(device) if word.contains('=') => {
                    device.push(',');
                    device.push_str(word);
                }
                None if word.contains('=') => return Err(format!("'{word}': of which platform?")),
                Some(_) | None => devices.push(format!("sim:{}", word.strip_prefix("sim:").unwrap_or(word))),
            }
        }
        Ok(Self(devices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_the_platform_before_them() {
        let devices = |text: &str| text.parse::<Devices>().map(|devices| devices.0);
        assert_eq!(devices("jsl").unwrap(), ["sim:jsl"]);
        assert_eq!(devices("jsl,kernel=6.1,tgl").unwrap(), ["sim:jsl,kernel=6.1", "sim:tgl"]);
        assert_eq!(devices("sim:jsl,sim:tgl").unwrap(), ["sim:jsl", "sim:tgl"]);
        assert_eq!(devices("lnl,tgl,driver=xe,jsl").unwrap(), ["sim:lnl", "sim:tgl,driver=xe", "sim:jsl"]);
        assert!(devices("kernel=6.1").is_err() && devices("jsl,").is_err() && devices("").is_err());
    }
}

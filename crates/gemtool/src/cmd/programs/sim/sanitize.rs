//! Runs a program, and reports its mistakes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gem_coherency::Unknown;
use gem_coherency::platform::{Driver, Platform, all};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_report::{
    Accepted, Baseline, Collection, FindingRow, Live, PictureOf, Run, Sanitized, Tests, read_suppressions,
};
use gem_coherency_sanitizer::{Listener, Sanitizer};
use gem_coherency_server::Settings;

use super::machine_of;
use super::run::on_server;
use crate::args;
use crate::args::Judges;
use crate::cmd::model::check::has_folder;
use crate::failure::Failure;

/// Runs the program and collects the findings; `show` is called with each when it happens, if that is asked for.
///
/// # Errors
/// As [`on_server`], [`read_suppressions`] and [`Baseline::read`].
pub fn sanitize(
    args: &args::Sanitize,
    show: impl Fn(&FindingRow) + Send + Sync + 'static,
) -> Result<Sanitized, Failure> {
    let accepted = accepted(args)?;
    if let Some(path) = &args.svg {
        has_folder("--svg", path)?;
    }
    if let Some(path) = args.baseline.as_ref().filter(|_| args.update_baseline) {
        has_folder("--baseline", path)?;
    }
    let devices = args.specs();
    let judges = args.platforms.as_ref().map_or(Ok(Vec::new()), |judges| judges_of(judges, &devices));
    let judges = judges.map_err(|why| Failure::flag("--platforms", why))?;
    let show = args.stream.then_some(Arc::new(show) as _);
    let live = (args.stream || args.halt_on_first)
        .then(|| Arc::new(Live::new(accepted.clone(), args.halt_on_first, show)));
    let program = args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let run = |status| Run { devices: devices.clone(), program, status };
    let mut report = if args.tests {
        let tests = Arc::new(Tests::new(&judges, live));
        let settings = Settings { suite: Some(tests.clone()), ..Settings::default() };
        let (status, _) = on_server(&devices, &args.program, &settings)?;
        Sanitized::of(run(status), tests.take(), &judges, accepted)
    } else {
        let listener = live.map(|live| live as Arc<dyn Listener>);
        let sanitizer = Arc::new(Sanitizer::new(&judges, args.svg.is_some(), listener));
        let settings = Settings { judge: Some(sanitizer.clone()), ..Settings::default() };
        let (status, server) = on_server(&devices, &args.program, &settings)?;
        let mut collection = Collection::new(!judges.is_empty());
        collection.add(server.session(), &sanitizer, None);
        let finding = args.finding.unwrap_or(NonZeroUsize::MIN);
        let picture = args.svg.clone().map(|path| PictureOf { path, finding });
        let report = Sanitized::of(run(status), collection, &judges, accepted);
        report.with_session(server.session(), &sanitizer, picture)
    };
    if args.update_baseline {
        report.update_baseline().map_err(|why| Failure::flag("--baseline", why))?;
    }
    Ok(report)
}

/// Reads what is accepted.
fn accepted(args: &args::Sanitize) -> Result<Accepted, Failure> {
    let mut suppressions = Vec::new();
    for path in &args.suppressions {
        suppressions.extend(read_suppressions(path).map_err(|why| Failure::flag("--suppressions", why))?);
    }
    let baseline = args.baseline.as_ref().map(|path| Baseline::read(path, args.update_baseline));
    let baseline = baseline.transpose().map_err(|why| Failure::flag("--baseline", why))?;
    Ok(Accepted { suppressions, baseline })
}

/// Returns the platforms that judge a run on these devices.
///
/// # Errors
/// A device of xe; as [`under`].
fn judges_of(judges: &Judges, devices: &[String]) -> Result<Vec<&'static Platform>, String> {
    let mut kernels = Vec::new();
    for device in devices {
        match machine_of(device) {
            Some(machine) if machine.driver == Driver::Xe => {
                return Err(format!(
                    "platforms of i915 judge what programs do with a device of i915, and {device} is one of xe: leave it out, and \
                     run the program on each device"
                ));
            }
            machine => kernels.extend(machine.map(|machine| machine.kernel)),
        }
    }
    under(judges, &kernels).map_err(|unknown| unknown.to_string())
}

/// Returns the platforms that judge, under the kernels of the run's devices.
///
/// # Errors
/// A kernel that does not claim a named platform.
fn under(judges: &Judges, kernels: &[KernelVersion]) -> Result<Vec<&'static Platform>, Unknown> {
    let claimed = |platform: &'static Platform| {
        kernels.iter().try_fold(platform, |platform, &kernel| platform.claimed_by(kernel))
    };
    match judges {
        Judges::All => Ok(all().iter().filter_map(|platform| claimed(platform).ok()).collect()),
        Judges::Named(platforms) => platforms.iter().map(|platform| claimed(platform)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_platform_judges_a_device_of_xe() {
        let judged = |devices: &[&str]| {
            let devices: Vec<_> = devices.iter().map(|device| (*device).to_owned()).collect();
            judges_of(&Judges::All, &devices).map(|platforms| platforms.len())
        };
        assert_eq!(judged(&["sim:tgl,kernel=6.12"]), Ok(all().len()));
        for device in ["sim:lnl", "sim:tgl,driver=xe"] {
            assert!(judged(&["sim:tgl", device]).unwrap_err().contains(device), "{device}");
        }
    }

    #[test]
    fn a_list_names_platforms_once() {
        let names = |text: &str, kernel| {
            let judges: Judges = text.parse()?;
            let platforms = under(&judges, &[kernel]).map_err(|unknown| unknown.to_string())?;
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

//! Runs a program, and reports its mistakes.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gem_coherency_report::{
    Accepted, Baseline, Collection, FindingRow, Live, PictureOf, Run, Sanitized, Tests, read_suppressions,
};
use gem_coherency_sanitizer::{JudgingPlatform, Listener, Sanitizer};
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
/// A kernel of a device that does not claim a named platform, and kernels that claim none of `all`.
fn judges_of(judges: &Judges, devices: &[String]) -> Result<Vec<JudgingPlatform>, String> {
    let machines: Vec<_> = devices.iter().filter_map(|device| Some((device, machine_of(device)?))).collect();
    let mut platforms: Vec<JudgingPlatform> = Vec::new();
    let mut add = |platform: JudgingPlatform| {
        if !platforms.contains(&platform) {
            platforms.push(platform);
        }
    };
    for &of in &judges.all {
        for &(_, machine) in &machines {
            let claimed = |platform: &JudgingPlatform| {
                machines.iter().all(|(_, machine)| platform.machine(machine.kernel).is_ok())
            };
            let all = JudgingPlatform::all(of.unwrap_or(machine.driver), machine.kernel);
            all.into_iter().filter(claimed).for_each(&mut add);
        }
    }
    for &(driver, name) in &judges.named {
        let platform = JudgingPlatform::under(driver, name).map_err(|unknown| unknown.to_string())?;
        for (device, machine) in &machines {
            platform.machine(machine.kernel).map_err(|unknown| {
                format!("{unknown}: a platform judges under the kernel of {device}, which kernel= changes")
            })?;
        }
        add(platform);
    }
    if platforms.is_empty() && !machines.is_empty() {
        return Err(
            "the kernel of the devices claims none of these platforms: give another kernel= to the device"
                .to_owned(),
        );
    }
    Ok(platforms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::all;
    use gem_coherency::xe;

    fn names(judges: &str, devices: &[&str]) -> Result<Vec<&'static str>, String> {
        let judges: Judges = judges.parse()?;
        let devices: Vec<_> = devices.iter().map(|device| (*device).to_owned()).collect();
        let platforms = judges_of(&judges, &devices)?;
        Ok(platforms.into_iter().map(JudgingPlatform::name).collect())
    }

    #[test]
    fn all_is_every_platform_of_the_devices_driver() {
        assert_eq!(names("all", &["sim:tgl"]).unwrap().len(), all().len());
        let of_xe = names("all", &["sim:lnl"]).unwrap();
        assert_eq!(of_xe.len(), xe::all().len());
        assert!(of_xe.contains(&"tgl,driver=xe") && of_xe.contains(&"lnl"));
        let old = names("all", &["sim:tgl,driver=xe,kernel=6.12"]).unwrap();
        assert!(old.contains(&"lnl") && !old.contains(&"ptl"), "{old:?}");
        assert_eq!(names("all", &["sim:glk,kernel=5.10"]).unwrap().last(), Some(&"rkl"));
    }

    #[test]
    fn a_list_names_platforms_once_and_the_kernel_has_to_claim_them() {
        assert_eq!(names("chv,glk,chv", &["sim:tgl"]).unwrap(), ["chv", "glk"]);
        assert_eq!(names("bmg,tgl,driver=xe,bmg", &["sim:lnl"]).unwrap(), ["bmg", "tgl,driver=xe"]);
        let refused = |judges, device, part| {
            let why = names(judges, &[device]).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        refused("glk,dg2", "sim:glk,kernel=5.10", "does not claim dg2");
        refused("ptl", "sim:tgl,driver=xe,kernel=6.12", "ptl");
        refused("chv,foo", "sim:tgl", "foo");
        refused("lnl", "sim:tgl,kernel=6.1", "6.1");
    }

    #[test]
    fn platforms_judge_devices_of_both_drivers() {
        assert_eq!(names("glk,lnl,tgl,driver=xe", &["sim:tgl"]).unwrap(), ["glk", "lnl", "tgl,driver=xe"]);
        assert_eq!(names("lnl,glk", &["sim:bmg"]).unwrap(), ["lnl", "glk"]);
        assert!(names("all,driver=xe", &["sim:tgl,kernel=7.2"]).unwrap().contains(&"ptl"));
        assert_eq!(names("all,driver=i915", &["sim:lnl"]).unwrap().len(), all().len());
        let both = names("all", &["sim:tgl", "sim:lnl,kernel=6.12"]).unwrap();
        assert!(both.contains(&"tgl") && both.contains(&"tgl,driver=xe") && !both.contains(&"ptl"));
        let none = names("all,driver=xe", &["sim:tgl,kernel=6.1"]).unwrap_err();
        assert!(none.contains("claims none"), "{none}");
    }
}

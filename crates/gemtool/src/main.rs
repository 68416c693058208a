//! `gemtool`: uses, shows and explains the cache coherency of GEM buffer objects.
//!
//! `args` parses the command line, `cmd` returns results as data, `render` writes them; this file decides the
//! exit status.
//!
//! ```text
//! L3  log
//! L2  render
//! L1  cmd
//! L0  args   failure   stdout   visible
//! ```
//!
//! * `log`: the log on standard error. Not results.
//! * `render`: results as text, as JSON, and as pictures. Not what they are made from.
//! * `cmd`: the commands, and their results as data. Not how these look.
//! * `args`: the command line. Not what it does.
//! * `failure`: the errors of commands, and their exit status. Not results.
//! * `stdout`: standard output that may be closed. Not its text.
//! * `visible`: text from outside without control characters. Not tables.

mod args;
mod cmd;
mod failure;
mod log;
mod render;
mod stdout;
mod visible;

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use args::{Args, Command, Driver, Who};
use cmd::model::explain::{driver, kernel};
use cmd::progress::bar;
use failure::{Failure, Outcome};
use render::model::explain;
use render::{Form, Page, visible};

fn main() -> ExitCode {
    gem_coherency_sim::link();
    gem_coherency_sim::report_shaders(render::shader::progress);
    let args = Args::of_command_line();
    if let Err(usage) = &args
        && usage.use_stderr()
    {
        // Standard error may be closed; the exit status still reports the error.
        let _ = usage.print();
        return ExitCode::from(2);
    }
    match write_result(&args) {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Violated) => ExitCode::from(1),
        Ok(Outcome::Status(status)) => ExitCode::from(status),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            let lines: Vec<_> = text.lines().map(visible).collect();
            // Standard error may be closed here, too.
            let _ = writeln!(io::stderr(), "error: {}", lines.join("\n"));
            ExitCode::from(2)
        }
    }
}

/// Writes the result of the command to standard output, or the requested help or version.
fn write_result(args: &Result<Args, clap::Error>) -> Result<Outcome, Failure> {
    let mut out = BufWriter::new(stdout::open()?);
    let outcome = match args {
        Ok(args) => run(args, &mut out)?,
        Err(help) => {
            Page::of_stdout(&mut out).styled(&help.render())?;
            Outcome::Passed
        }
    };
    Page::of_stdout(&mut out).flush()?;
    Ok(outcome)
}

/// Runs the command and writes its results to `out`.
fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    log::start(args.verbose)?;
    let form = if args.json { Form::Json } else { Form::Text };
    let mut page = Page::of_stdout(out);
    match &args.command {
        Command::Platforms(platforms) => list_platforms(platforms, &mut page, form)?,
        Command::Alloc(alloc) => return run_alloc(alloc, &mut page, form, args.verbose == 0),
        Command::Info(info) => page.report(&cmd::objects::info::run(info)?, form)?,
        Command::Explain(explain) if is_about_xe(explain.driver, explain.platform.as_deref()) => {
            page.report(&cmd::model::xe::explain(explain)?, form)?
        }
        Command::Explain(explain) if explain.table => {
            explain_table(explain, &mut page, form, args.verbose == 0)?
        }
        Command::Explain(explain) => explain_one(explain, &mut page, form)?,
        Command::Run(run) => return run_script(run, &mut page, form),
        Command::Check(check) if is_check_of_xe(check) => {
            let report = cmd::model::check::xe::run(check)?;
            page.report(&report, form)?;
            return Ok(if report.holds { Outcome::Passed } else { Outcome::Violated });
        }
        Command::Check(check) => return run_check(check, &mut page, form, args.verbose),
        Command::Rules(rules) => page.report(&cmd::model::rules::run(rules)?, form)?,
        Command::Completions(completions) => {
            page.report(&cmd::manual::completions::run(completions), form)?
        }
        Command::Man(man) => page.report(&cmd::manual::man::run(man)?, form)?,
        #[cfg(feature = "bench")]
        Command::Bench(bench) => {
            let report = cmd::bench::run(bench, args.verbose == 0)?;
            page.report(&report, form)?;
            return Ok(if report.passed { Outcome::Passed } else { Outcome::Violated });
        }
        #[cfg(not(feature = "bench"))]
        Command::Bench(_) => return Err(Failure::not_built("bench")),
        Command::Eu(eu) => {
            let report = cmd::gpu::eu::run(eu)?;
            page.report(&report, form)?;
            return Ok(if report.is_violated() { Outcome::Violated } else { Outcome::Passed });
        }
        Command::Lines(lines) => {
            let report = cmd::gpu::lines::run(lines)?;
            page.report(&report, form)?;
            return Ok(if report.passed() { Outcome::Passed } else { Outcome::Violated });
        }
        Command::Dispatch(dispatch) => {
            let report = cmd::gpu::dispatch::run(dispatch)?;
            page.report(&report, form)?;
            return Ok(if report.passed() { Outcome::Passed } else { Outcome::Violated });
        }
        Command::Scanout(scanout) => {
            let report = cmd::objects::scanout::run(scanout)?;
            page.report(&report, form)?;
            return Ok(match report.passed {
                Some(true) => Outcome::Passed,
                Some(false) => Outcome::Violated,
                None => Outcome::Status(3),
            });
        }
        Command::Verify(verify) => {
            let report = cmd::objects::verify::run(verify, args.verbose == 0)?;
            page.report(&report, form)?;
            page.flush()?;
            return match report.stopped() {
                Some(failure) => Err(failure),
                None => Ok(if report.passed() { Outcome::Passed } else { Outcome::Violated }),
            };
        }
        #[cfg(feature = "programs")]
        Command::Sim(sim) => return run_sim(sim, form),
        #[cfg(feature = "programs")]
        Command::Sanitize(sanitize) => return run_sanitize(sanitize, form),
        #[cfg(feature = "programs")]
        Command::Serve(serve) => {
            let session = cmd::programs::sim::Session::start(serve)?;
            page.report(&session.served(), form)?;
            page.flush()?;
            session.wait()?;
        }
        #[cfg(not(feature = "programs"))]
        Command::Sim(_) => return Err(Failure::not_built("sim")),
        #[cfg(not(feature = "programs"))]
        Command::Sanitize(_) => return Err(Failure::not_built("sanitize")),
        #[cfg(not(feature = "programs"))]
        Command::Serve(_) => return Err(Failure::not_built("serve")),
        Command::Trace(trace) => {
            let report = cmd::programs::trace::run(trace, args.json)?;
            page.report(&report, form)?;
            return Ok(if report.passed() { Outcome::Passed } else { Outcome::Violated });
        }
    }
    Ok(Outcome::Passed)
}

/// Runs `gemtool alloc` and writes its results; a second report covers the release of held BOs.
fn run_alloc(
    args: &args::Alloc,
    page: &mut Page<'_>,
    form: Form,
    progress: bool,
) -> Result<Outcome, Failure> {
    let mut session = cmd::objects::alloc::Session::open(args)?;
    let report = session.run(progress)?;
    page.report(&report, form)?;
    page.flush()?;
    if let Some(released) = session.release()? {
        page.report(&released, form)?;
    }
    if let Some(failure) = session.interrupted() {
        page.flush()?;
        return Err(failure);
    }
    Ok(if report.passed { Outcome::Passed } else { Outcome::Violated })
}

/// Runs a program, and writes what was skipped and, if requested, its requests: standard output is the program's.
#[cfg(feature = "programs")]
fn run_sim(args: &args::Sim, form: Form) -> Result<Outcome, Failure> {
    let ran = cmd::programs::sim::run(args)?;
    let mut err = io::stderr();
    let mut page = Page::of_stdout(&mut err);
    // The JSON form has what was skipped, too.
    if !args.requests || form == Form::Text {
        render::programs::coverage::skips(&ran.requests.coverage, &mut page)?;
    }
    if args.requests {
        page.report(&ran.requests, form)?;
    }
    Ok(Outcome::Status(ran.status))
}

/// Runs a program, and writes what it did wrong: standard output is the program's.
#[cfg(feature = "programs")]
fn run_sanitize(args: &args::Sanitize, form: Form) -> Result<Outcome, Failure> {
    // Before the program runs: its results would be lost.
    let output = args.output.as_ref().map(|path| {
        let opened = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
        opened.map_err(|error| Failure::flag("--output", format!("{}: {error}", path.display())))
    });
    let output = output.transpose()?;
    let mut report = cmd::programs::sim::sanitize(args, |finding| {
        let mut out = io::stderr().lock();
        // Standard error may be closed; the report has the finding, too.
        let _ = render::programs::sanitize::one(finding, &mut Page::of_stdout(&mut out));
    })?;
    let mut drawn = Ok(());
    if let Some(picture) = &mut report.picture
        && let Some(view) = &picture.view
    {
        drawn = fs::write(&picture.path, render::programs::history::picture(view));
        picture.written = drawn.is_ok();
    }
    let to_file = output.is_some();
    let mut out: Box<dyn Write> = match output {
        Some(file) => {
            // What cannot be cut, such as a pipe, has nothing before.
            let _ = file.set_len(0);
            Box::new(file)
        }
        None => Box::new(io::stderr()),
    };
    let mut page = Page::of_stdout(&mut out);
    if args.sarif {
        page.json(&render::programs::sarif::of(&report))?;
    } else if args.junit {
        page.raw(&render::programs::junit::of(&report))?;
    } else {
        page.report(&report, form)?;
    }
    if to_file && !report.is_clean() {
        // Standard error may be closed; the report is in the file.
        let _ = writeln!(io::stderr(), "gemtool: {}", render::programs::sanitize::summary(&report));
    }
    // The report comes first: it matters more than the picture.
    drawn.map_err(|error| {
        let path = args.svg.clone().unwrap_or_default();
        Failure::flag("--svg", format!("cannot write '{}': {error}", path.display()))
    })?;
    Ok(Outcome::Status(report.exit_status(args.error_exitcode, args.allow_nothing_judged)))
}

/// Searches the model and writes the results; draws a violation if requested.
fn run_check(args: &args::Check, page: &mut Page<'_>, form: Form, verbose: u8) -> Result<Outcome, Failure> {
    let changes = args.rules || args.mutants || args.assumptions;
    if changes && let Some(report) = cmd::model::check::prove(args, verbose == 0)? {
        page.report(&report, form)?;
        return Ok(if report.accounted_for { Outcome::Passed } else { Outcome::Violated });
    }
    // The searches without a change are part of no part of the changes.
    let searches = args::Check { shard: args.shard.filter(|_| !changes), ..args.clone() };
    let mut report = cmd::model::check::run(&searches, verbose > 0, verbose == 0)?;
    let mut drawn = Ok(());
    if let Some(path) = &args.svg {
        let picture = report.violation().map(|(_, trace)| render::model::check::picture(trace));
        drawn = picture.as_ref().map_or(Ok(()), |picture| fs::write(path, picture));
        report.svg =
            Some(cmd::model::check::Svg { path: path.clone(), written: picture.is_some() && drawn.is_ok() });
    }
    // The report comes first: it matters more than the picture.
    page.report(&report, form)?;
    drawn.map_err(|error| {
        Failure::flag(
            "--svg",
            format!("cannot write '{}': {error}", args.svg.clone().unwrap_or_default().display()),
        )
    })?;
    Ok(if report.holds { Outcome::Passed } else { Outcome::Violated })
}

/// Runs a script and writes its results, then the error that stopped it, if any.
fn run_script(args: &args::Run, page: &mut Page<'_>, form: Form) -> Result<Outcome, Failure> {
    if args.timeline && form == Form::Json {
        return Err(Failure::flag("--timeline", "--json already includes it: leave out one of the two"));
    }
    let run = cmd::objects::run::start(args)?;
    page.report(&run, form)?;
    page.flush()?;
    match run.stopped() {
        Some(failure) => Err(failure),
        None => Ok(if run.passed() { Outcome::Passed } else { Outcome::Violated }),
    }
}

/// Returns whether a question is about xe: by the driver's name, or by that of a platform that xe alone drives.
fn is_about_xe(driver: Option<Driver>, platform: Option<&str>) -> bool {
    driver.map_or_else(|| platform.is_some_and(cmd::model::xe::is_alone), |driver| driver == Driver::Xe)
}

/// Returns whether a check is one of xe: by the driver's name, or by that of a platform that xe alone drives.
fn is_check_of_xe(args: &args::Check) -> bool {
    is_about_xe(args.driver, args.platforms.first().map(String::as_str))
}

/// Writes the platforms of a driver, or one in full.
fn list_platforms(args: &args::Platforms, page: &mut Page<'_>, form: Form) -> Result<(), Failure> {
    let driver = if is_about_xe(args.driver, args.which.as_deref()) { Driver::Xe } else { Driver::I915 };
    let kernel = args.kernel.unwrap_or(driver.kernel());
    match (driver, &args.which) {
        (Driver::I915, Some(which)) => page.report(&cmd::model::platforms::one(which, kernel)?, form)?,
        (Driver::I915, None) => page.report(&cmd::model::platforms::table(kernel)?, form)?,
        (Driver::Xe, Some(which)) => page.report(&cmd::model::xe::one(which, kernel)?, form)?,
        (Driver::Xe, None) => page.report(&cmd::model::xe::table(kernel)?, form)?,
    }
    Ok(())
}

/// Writes one decision.
fn explain_one(args: &args::Explain, page: &mut Page<'_>, form: Form) -> Result<(), Failure> {
    for ruled in cmd::model::explain::ruled(args)? {
        match args.who {
            Who::Kernel => page.report(&kernel::one(&ruled, args)?, form)?,
            Who::Driver => page.report(&driver::one(&ruled, args)?, form)?,
        }
    }
    Ok(())
}

/// Writes every decision, platform by platform; a bar shows the progress, unless the rows themselves do on the terminal.
fn explain_table(
    args: &args::Explain,
    page: &mut Page<'_>,
    form: Form,
    progress: bool,
) -> Result<(), Failure> {
    let platforms = cmd::model::explain::ruled(args)?;
    let progress = progress && platforms.len() > 1 && !io::stdout().is_terminal();
    let bar = bar(platforms.len() as u64, "{bar:40} {pos}/{len} platforms, {elapsed}", progress);
    for ruled in platforms {
        match (args.who, form) {
            (Who::Kernel, Form::Json) => {
                let object = kernel::object(&ruled, args)?;
                kernel::rows(&ruled, object).try_for_each(|row| page.json_line(&row))?;
            }
            (Who::Driver, Form::Json) => driver::rows(&ruled).try_for_each(|row| page.json_line(&row))?,
            (Who::Kernel, Form::Text) => {
                let object = kernel::object(&ruled, args)?;
                explain::kernel_table(page, &kernel::rows(&ruled, object).collect::<Vec<_>>())?;
            }
            (Who::Driver, Form::Text) => {
                explain::driver_table(page, &driver::rows(&ruled).collect::<Vec<_>>())?
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

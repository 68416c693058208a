//! `gemtool completions`: scripts with which a shell completes commands, flags, and their values.

use std::any::TypeId;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
use gem_coherency::platform;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, CachingMode, MmapMode, MocsClass};
use gem_coherency_check::xe::Change;
use gem_coherency_check::{Caller, Condition, Mutant};
use gem_coherency_memory_model::Assumption;
use serde::Serialize;

use crate::args::{self, Args, Dropped, History, TakenOut};

/// A completion script.
#[derive(Clone, Debug, Serialize)]
pub struct Script {
    /// The shell.
    pub shell: String,
    /// The script's text.
    pub script: String,
}

/// Creates the script.
pub fn run(args: &args::Completions) -> Script {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_words(Args::command()), "gemtool", &mut text);
    Script { shell: args.shell.to_string(), script: String::from_utf8_lossy(&text).into_owned() }
}

/// Adds to every argument of `command` the list of its possible values. Only shells see it: the values' own
/// types parse the arguments, and give more specific messages.
fn with_words(command: Command) -> Command {
    let command = command.mut_args(|arg| match words(&arg) {
        Some(words) => arg.value_parser(PossibleValuesParser::new(words)),
        None if arg.get_id() == "device" => arg.value_hint(ValueHint::AnyPath),
        None => arg,
    });
    command.mut_subcommands(with_words)
}

/// Returns the values that `arg` accepts, by the type that parses it; `None` if they cannot be listed.
fn words(arg: &Arg) -> Option<Vec<&'static str>> {
    if ["platform", "platforms", "which"].iter().any(|id| arg.get_id() == id) {
        return Some(platform::all().iter().map(|platform| platform.name).collect());
    }
    let takes = arg.get_value_parser().type_id();
    let mut found = None;
    let mut by_type = |read_by: TypeId, words: &dyn Fn() -> Vec<&'static str>| {
        if takes == read_by {
            found = Some(words());
        }
    };
    macro_rules! by_types {
        ($($read_by:ty),+) => {
            $(by_type(TypeId::of::<$read_by>(), &|| <$read_by>::ALL.iter().map(|one| one.name()).collect());)+
        };
    }
    by_types!(Access, Agent, CacheLevel, CachingMode, Caller, Event, MmapMode, MocsClass, Mutant);
    by_type(TypeId::of::<History>(), &|| Event::ALL.iter().map(|event| event.name()).collect());
    by_type(TypeId::of::<TakenOut>(), &|| {
        let rules = Rule::ALL.iter().map(|rule| rule.name());
        rules.chain(Change::all().map(Change::name)).collect()
    });
    by_type(TypeId::of::<Dropped>(), &|| {
        let assumptions = Assumption::ALL.iter().map(|one| one.id());
        assumptions.chain(Condition::ALL.iter().map(|one| one.id())).collect()
    });
    found
}

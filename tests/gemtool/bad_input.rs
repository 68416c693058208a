//! Bad input: the message names the flag and the value, and the exit status is 2.

use crate::{command, gemtool, ran};

#[test]
fn without_a_command_the_usage_is_shown() {
    gemtool("").refused(&["Usage: gemtool", "platforms", "explain"]);
    gemtool("frobnicate").refused(&["frobnicate"]);
}

#[test]
fn a_word_that_is_not_known_is_named_with_the_known_ones() {
    let explain = "explain --platform jsl --who kernel --event";
    gemtool(&format!("{explain} aquire")).refused(&["--event", "'aquire'", "acquire, release, fault"]);
    gemtool(&format!("{explain} acquire --object bo")).refused(&["--object", "'bo'", "user, userptr"]);
    gemtool(&format!("{explain} acquire --state new")).refused(&["--state", "'new'"]);
    gemtool("explain --platform jsl --level l3 --writer cpu --reader gpu")
        .refused(&["--level", "'l3'", "l3-llc"]);
    gemtool("explain --platform jsl --who me").refused(&["--who", "'me'", "kernel, driver"]);
    gemtool("rules same-cash").refused(&["'same-cash'", "same-cache"]);
}

#[test]
fn a_platform_or_kernel_that_is_not_known_is_named() {
    gemtool("explain --platform foo --table").refused(&["--platform", "'foo'", "gemtool platforms"]);
    gemtool("platforms foo").refused(&["'foo'"]);
    gemtool("platforms 8086:ffff").refused(&["8086:ffff"]);
    gemtool("platforms --kernel six").refused(&["--kernel", "'six'", "6.12"]);
    gemtool("explain --table --kernel 5.4").refused(&["--kernel", "5.4", "5.14"]);
}

#[test]
fn a_flag_without_meaning_is_refused_and_not_ignored() {
    gemtool("explain --platform jsl --who kernel --event acquire --map wb")
        .refused(&["--map", "--who driver"]);
    gemtool("explain --platform jsl --level none --writer cpu --reader gpu --state fresh")
        .refused(&["--state", "--who kernel"]);
    gemtool("explain --table --level none").refused(&["--table", "--level"]);
}

#[test]
fn a_question_that_lacks_something_says_what() {
    gemtool("explain").refused(&["--platform"]);
    gemtool("explain --platform jsl").refused(&["--level", "needed"]);
    gemtool("explain --platform jsl --level none --writer cpu").refused(&["--reader", "needed"]);
    gemtool("explain --platform jsl --who kernel").refused(&["--event", "needed"]);
}

#[test]
fn a_state_that_cannot_be_says_which_event_is_refused() {
    gemtool("explain --platform dg2 --who kernel --event fault --state set-caching-none").refused(&[
        "--state",
        "set-caching-none",
        "ENODEV",
    ]);
    gemtool("explain --platform jsl --who kernel --event fault --level wt")
        .refused(&["--level", "wt", "jsl"]);
    gemtool("explain --platform jsl --who kernel --event fault --object local")
        .refused(&["--object", "local"]);
}

#[test]
fn a_log_filter_that_cannot_be_read_is_named() {
    let mut bad = command("rules");
    bad.env("GEM_COHERENCY_LOG", "gem_coherency=loud");
    ran(bad).refused(&["GEM_COHERENCY_LOG", "gem_coherency=loud"]);
}

#[test]
fn output_that_cannot_be_written_is_an_error_but_a_closed_pipe_is_not() {
    let mut full = command("platforms");
    full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    ran(full).refused(&["cannot write the output"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut closed = command("explain --table --platform jsl");
    closed.stdout(writer);
    assert_eq!((ran(closed).status), Some(0));
}

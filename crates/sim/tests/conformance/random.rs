//! Random sequences of calls, and the shortest one that shows a difference.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::call::Call;
use super::replay::{Compared, Difference};
use super::shapes::{self, Files, Shape, Values};

/// Calls of one sequence, at most.
const LONGEST: usize = 60;

/// One call as numbers; all zeroes are an ordinary call.
type Raw = (u32, u16, Vec<(u8, u16)>);

fn raw() -> impl Strategy<Value = Raw> {
    let most_fields = shapes::chosen().map(|shape| shape.fields.len()).max().unwrap_or(0);
    let numbers = proptest::collection::vec((0..10u8, any::<u16>()), most_fields);
    (any::<u32>(), 0..8u16, numbers)
}

/// The call that the numbers mean.
fn call((shape, file, numbers): &Raw) -> Call {
    let total: u32 = shapes::chosen().map(|shape| shape.weight).sum();
    let mut left = shape % total;
    let shape: &'static Shape = shapes::chosen()
        .find(|shape| {
            let here = left < shape.weight;
            left = left.saturating_sub(shape.weight);
            here
        })
        .expect("the weights add up");
    // Most calls are made on the first file, with ordinary values, to objects that are there.
    let file = match (shape.files, file) {
        (Files::First, _) => 0,
        (Files::All, file) => file.saturating_sub(5),
    };
    let picks = shape.fields.iter().zip(numbers).map(|(field, &(chance, number))| {
        // Objects and what calls returned are mostly there; other fields mostly take their first value.
        let (likely, among) = match field.values {
            Values::Handle | Values::AnyHandle => (7, 3),
            Values::Fd | Values::Offset | Values::Framebuffer | Values::Mapping => (7, 4),
            Values::Of(_) | Values::Address | Values::Built(..) => (6, 1),
        };
        number % if chance < likely { among } else { field.values.len() }
    });
    Call { shape, file, picks: picks.collect() }
}

/// Every sequence begins with two objects.
fn sequence(raw: &[Raw]) -> Vec<Call> {
    let create = Call::first(shapes::named("GEM_CREATE"));
    [create.clone(), create].into_iter().chain(raw.iter().map(call)).collect()
}

/// Sequences that one process makes before it begins anew.
const BATCH: usize = 16;

/// Runs `test` over random sequences until `calls` calls were made, or one differs; then makes that
/// sequence as short and as plain as it can.
pub fn run(
    seed: u64,
    calls: u64,
    test: impl Fn(&[Vec<Call>]) -> Result<Compared, Difference>,
) -> (Compared, Option<Difference>) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, max_shrink_iters: 1000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategy = proptest::collection::vec(raw(), 1..LONGEST);
    let mut compared = Compared::default();
    while compared.calls < calls {
        let mut trees: Vec<_> =
            (0..BATCH).map(|_| strategy.new_tree(&mut runner).expect("a sequence")).collect();
        let sequences: Vec<_> = trees.iter().map(|tree| sequence(&tree.current())).collect();
        let different = match test(&sequences) {
            Ok(done) => {
                compared = compared.and(done);
                continue;
            }
            Err(difference) => difference,
        };
        compared = compared.and(different.compared);
        // Alone it can be made shorter, if it differs alone.
        let tree = trees.swap_remove(different.sequence);
        let last = RefCell::new(different);
        let alone = runner.run_one(tree, |raw| match test(&[sequence(&raw)]) {
            Ok(_) => Ok(()),
            Err(difference) => {
                *last.borrow_mut() = difference;
                Err(TestCaseError::fail("different"))
            }
        });
        if let Err(TestError::Abort(why)) = alone {
            panic!("{why}");
        }
        return (compared, Some(last.into_inner()));
    }
    (compared, None)
}

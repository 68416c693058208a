//! Text form of `gemtool verify` under xe.

use std::collections::BTreeMap;
use std::io;

use gem_coherency::xe::{PatCoherency, Verdict};

use super::{Check, Kind, counts, failures, rest, summary, with_library, without_flushes, without_required};
use crate::args::Via;
use crate::cmd::objects::verify::xe::list;
use crate::cmd::objects::verify::xe::report::{AccessRow, Answer, XeRow, XeVerifyReport};
use crate::render::{Align, Page, Report, Table, held_style};

impl Report for XeVerifyReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        counts(page, &self.counts, self.lines, self.seed)?;
        if let Some(forget) = self.forget {
            page.line(&format!("the library leaves out each {} that the rules require", forget.verdict()))?;
        }
        for rows in self.rows.chunk_by(|one, two| one.object == two.object) {
            let Some((creation, mappings)) = rows.split_first() else { continue };
            page.gap()?;
            page.heading(&sentence(&creation.object.to_string()))?;
            page.wrapped(2, &format!("GEM_CREATE {}", answer(&creation.answer)))?;
            if creation.answer.seen.is_none() {
                groups(mappings).iter().try_for_each(|group| group.write(page))?;
            }
        }
        let wrong: Vec<_> = self.rows.iter().flat_map(complaints).collect();
        failures(page, &wrong)?;
        rest(page, &self.refused, &self.skipped)?;
        page.gap()?;
        page.styled_heading(
            &summary(&self.totals, &self.refused, ("drain", "drains")),
            held_style(self.passed),
        )
    }
}

/// Returns the text with a capital.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// Describes the answer of a request.
fn answer(answer: &Answer) -> String {
    let expected = answer.foreseen.map(|refusal| {
        let name = refusal.errno.name().unwrap_or("an error");
        (name, format!("{}: {}", refusal.rule, refusal.rule.reason()))
    });
    let seen = answer.seen.map(|errno| errno.name().map_or(errno.to_string(), str::to_owned));
    match (expected, seen) {
        (None, None) => "accepts".to_owned(),
        (Some((_, rule)), Some(seen)) if answer.is_foreseen() => format!("refuses with {seen}. {rule}"),
        (Some((name, rule)), Some(seen)) => format!("refuses with {seen}, NOT with {name}. {rule}"),
        (Some((name, rule)), None) => format!("accepts, and does NOT refuse with {name}. {rule}"),
        (None, Some(seen)) => format!("refuses with {seen}, and does NOT accept"),
    }
}

/// PAT indices with the same results.
struct Group<'a> {
    indices: Vec<u16>,
    coherencies: Vec<PatCoherency>,
    first: &'a XeRow,
}

/// Returns the rows of an object by their results.
fn groups(rows: &[XeRow]) -> Vec<Group<'_>> {
    let mut groups = Vec::<Group<'_>>::new();
    for row in rows {
        let same =
            |group: &&mut Group<'_>| group.first.answer == row.answer && cells(group.first) == cells(row);
        let index = row.pat_index.unwrap_or_default();
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.indices.push(index);
                group.coherencies.extend(row.coherency.filter(|one| !group.coherencies.contains(one)));
            }
            None => {
                let coherencies = row.coherency.into_iter().collect();
                groups.push(Group { indices: vec![index], coherencies, first: row });
            }
        }
    }
    groups
}

impl Group<'_> {
    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let names: Vec<_> = self.coherencies.iter().map(|one| one.name()).collect();
        let coherency =
            if names.is_empty() { String::new() } else { format!(" (coherency {})", names.join(", ")) };
        let indices = list(&self.indices);
        page.wrapped(2, &format!("PAT {indices}{coherency}: VM_BIND {}", answer(&self.first.answer)))?;
        let rows = cells(self.first);
        if rows.is_empty() {
            return Ok(());
        }
        let heads =
            ["write", "read", "needs", "library", "unflushed", "rule"].map(|head| (head, Align::Left));
        let mut table = Table::new(4, &heads);
        for row in rows {
            let Cells { texts, passed, overs } = row;
            table.row(texts);
            table.style(3, held_style(passed[0])).style(4, held_style(passed[1]));
            if let Some(overs) = overs {
                table.note(format!("over {overs}"));
            }
        }
        table.write(page)
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cells {
    texts: [String; 6],
    /// Whether the library's result and the one without it passed.
    passed: [bool; 2],
    /// The paths of the old values, if the result depends on them.
    overs: Option<String>,
}

/// The results of accesses by the same last two paths, each with the paths of the old values.
type Outcomes = Vec<(Cells, Vec<&'static str>)>;

/// Returns the accesses by their paths, those over several paths with the same result as one.
fn cells(row: &XeRow) -> Vec<Cells> {
    let mut pairs: BTreeMap<(Kind, Option<Via>, Via), Outcomes> = BTreeMap::new();
    for access in &row.accesses {
        let outcomes = pairs.entry((access.kind, access.write, access.read)).or_default();
        let cells = of_access(access);
        let over = access.over.map(Via::name);
        match outcomes.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, overs)) => overs.extend(over),
            None => outcomes.push((cells, over.into_iter().collect())),
        }
    }
    let all = pairs.into_values().flat_map(|outcomes| {
        let differs = outcomes.len() > 1;
        outcomes
            .into_iter()
            .map(move |(cells, overs)| Cells { overs: differs.then(|| overs.join(", ")), ..cells })
    });
    all.collect()
}

fn of_access(access: &AccessRow) -> Cells {
    let needs = access.decision.as_ref().map_or(Verdict::NotNeeded, |decision| decision.verdict);
    let rule = access.decision.as_ref().map_or("-", |decision| decision.rule.name());
    let by_kernel = access.kind == Kind::Fresh && needs == Verdict::Flush;
    let rule = if by_kernel { format!("{rule} (kernel)") } else { rule.to_owned() };
    let write = match access.kind {
        Kind::Fresh => "new object",
        Kind::Overwrite | Kind::HandOver => access.write.map_or("-", Via::name),
    };
    let library = if matches!(access.with_library, Check::Wrong(_)) { "WRONG" } else { "right" };
    let texts =
        [write, access.read.name(), needs.name(), library, without_flushes(&access.without_flushes), &rule];
    let passed = [access.with_library.wrong().is_none(), access.without_flushes.passed()];
    Cells { texts: texts.map(str::to_owned), passed, overs: None }
}

/// Describes the failures of a row.
fn complaints(row: &XeRow) -> Vec<String> {
    let index = row.pat_index.map_or(String::new(), |index| format!(", PAT index {index}"));
    let what = format!("{}{index}", row.object);
    let request = if row.pat_index.is_some() { "VM_BIND" } else { "GEM_CREATE" };
    let unforeseen =
        (!row.answer.is_foreseen()).then(|| format!("{what}: {request} {}", answer(&row.answer)));
    let wrong = row.accesses.iter().filter(|access| !access.passed()).map(|access| {
        let vias = [access.over, access.write, Some(access.read)].into_iter().flatten().map(Via::name);
        let new = (access.kind == Kind::Fresh).then_some("new object");
        let vias = new.into_iter().chain(vias).collect::<Vec<_>>().join(", ");
        let parts = access.with_library.wrong().map(with_library).into_iter();
        let parts: Vec<_> = parts.chain(without_required(&access.without_flushes)).collect();
        format!("{what}, {vias}: {}", parts.join("; "))
    });
    unforeseen.into_iter().chain(wrong).collect()
}

#[cfg(test)]
mod tests {
    use gem_coherency::Errno;
    use gem_coherency::xe::{Refusal, Rule};

    use super::*;
    use crate::cmd::objects::verify::xe::list;

    #[test]
    fn an_answer_that_is_not_foreseen_is_called_so() {
        let refusal = |errno| Refusal { errno, rule: Rule::CachedNotSnooped };
        for (foreseen, seen, is_foreseen) in [
            (None, None, true),
            (Some(refusal(Errno::EINVAL)), Some(Errno::EINVAL), true),
            (Some(refusal(Errno::EINVAL)), None, false),
            (Some(refusal(Errno::EINVAL)), Some(Errno::ENOMEM), false),
            (None, Some(Errno::EINVAL), false),
        ] {
            let one = Answer::new(foreseen, seen);
            assert_eq!(one.is_foreseen(), is_foreseen, "{one:?}");
            assert_eq!(answer(&one).contains("NOT"), !is_foreseen, "{}", answer(&one));
        }
    }

    #[test]
    fn indices_are_listed_as_ranges() {
        assert_eq!(list(&[0, 1, 2, 4, 6, 7, 9]), "0 to 2, 4, 6, 7, 9");
        assert_eq!(list(&[]), "");
    }
}

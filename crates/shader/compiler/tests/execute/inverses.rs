//! Determinants and inverses of matrices on the executor.

use gem_shader_compiler::Stage;

use crate::threads::{PLATFORMS, compile, run};

/// Returns the determinant of the part of a matrix that has its first columns and rows, by elimination.
fn determinant(numbers: &[f32], size: usize) -> f64 {
    let mut columns: Vec<Vec<f64>> =
        (0..size).map(|column| (0..size).map(|row| f64::from(numbers[4 * column + row])).collect()).collect();
    let mut determinant = 1.0;
    for at in 0..size {
        let pivot =
            (at..size).max_by(|a, b| columns[*a][at].abs().total_cmp(&columns[*b][at].abs())).unwrap();
        if pivot != at {
            columns.swap(pivot, at);
            determinant = -determinant;
        }
        determinant *= columns[at][at];
        let pivot = columns[at].clone();
        for column in &mut columns[at + 1..] {
            let factor = column[at] / pivot[at];
            column.iter_mut().zip(&pivot).for_each(|(number, above)| *number -= factor * above);
        }
    }
    determinant
}

/// Returns the largest difference between the product of a matrix with its inverse and the identity.
fn fault(numbers: &[f32], size: usize, inverse: &[f32], stride: usize) -> f64 {
    let mut most = 0.0_f64;
    for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
        let products = (0..size)
            .map(|inner| f64::from(numbers[4 * inner + row]) * f64::from(inverse[stride * column + inner]));
        let identity = if row == column { 1.0 } else { 0.0 };
        most = most.max((products.sum::<f64>() - identity).abs());
    }
    most
}

#[test]
fn determinants_and_inverses_have_their_values() {
    // Columns without order, with diagonals that keep the matrices far from singular ones.
    let number =
        |at: usize| (at * 29 % 41) as f32 * 0.17 - 3.4 + if at.is_multiple_of(5) { 9.0 } else { 0.0 };
    let matrices: Vec<Vec<f32>> = (0..32)
        .map(|lane| {
            (0..16)
                .map(|at| {
                    number(at) * if lane % 2 == 0 { 1.0 } else { -1.0 }
                        + ((lane * 7 + at * 3) % 11) as f32 * 0.25
                })
                .collect()
        })
        .collect();
    let words: Vec<u32> = matrices.concat().iter().map(|number| number.to_bits()).collect();
    for platform in PLATFORMS {
        let shader = compile(platform, include_bytes!("../data/inverses.spv"), Stage::Compute);
        let found = run(&shader, [2, 1, 1], &[words.clone(), vec![0; 36 * matrices.len()]]);
        for (matrix, found) in matrices.iter().zip(found[1].chunks(36)) {
            let found: Vec<f32> = found.iter().map(|word| f32::from_bits(*word)).collect();
            // Columns of three numbers are 16 bytes apart.
            for (size, inverse, stride) in
                [(4, &found[..16], 4), (3, &found[16..28], 4), (2, &found[28..32], 2)]
            {
                let expected = determinant(matrix, size);
                let determinant = f64::from(found[30 + size]);
                assert!(expected.abs() > 1.0, "{matrix:?} is nearly singular");
                let error = (determinant - expected).abs();
                assert!(
                    error <= 1e-5 * expected.abs().max(100.0),
                    "{platform}: {determinant} for {expected}"
                );
                let error = fault(matrix, size, inverse, stride);
                assert!(error < 1e-4, "{platform}: {inverse:?} of {matrix:?} is wrong by {error}");
                // The inverse of a matrix with other columns is another one.
                let turned: Vec<f32> = (0..16).map(|at| matrix[at % 4 * 4 + at / 4]).collect();
                assert!(fault(&turned, size, inverse, stride) > 1e-2, "{platform}: rows are columns");
            }
        }
    }
}

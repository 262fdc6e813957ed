//! Reference states of `tests/data/truth.tsv`, made by an independent integrator of the fifteenth order.

use galaxy::physics::Vec3;

/// One line of the file.
pub(crate) struct Truth {
    pub(crate) case: &'static str,
    pub(crate) seconds: f64,
    pub(crate) name: &'static str,
    pub(crate) at: Vec3,
    /// Where a craft started, relative to its body.
    pub(crate) start: Option<(Vec3, Vec3)>,
}

/// All lines of a case.
pub(crate) fn of(case: &str) -> Vec<Truth> {
    let lines = include_str!("../data/truth.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(read).filter(|truth| truth.case == case).collect()
}

fn read(line: &'static str) -> Truth {
    let fields: Vec<_> = line.split('\t').collect();
    let vector = |from: usize| {
        let part: Vec<f64> = fields[from..from + 3].iter().map(|x| x.parse().unwrap()).collect();
        Vec3::new(part[0], part[1], part[2])
    };
    Truth {
        case: fields[0],
        seconds: fields[1].parse().unwrap(),
        name: fields[3],
        at: vector(4),
        start: (fields[2] == "craft").then(|| (vector(7), vector(10))),
    }
}

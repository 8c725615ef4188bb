//! P2
use toggle_rs::quantile::{P2Quantile, Quantile};
#[test]
fn a() {
    let v = [
        0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92, 34.60, 10.28, 1.47, 0.40,
        0.05, 11.39, 0.27, 0.42, 0.09, 11.37,
    ];
    let mut p = P2Quantile::new(0.5).unwrap();
    p.update(&v).unwrap();
    println!("{:?} {:?}", p.quantile(0.5), p.positions());
    let mut w = v;
    w[1] = 0.5;
    let mut p = P2Quantile::new(0.5).unwrap();
    p.update(&w).unwrap();
    println!("{:?} {:?}", p.quantile(0.5), p.positions());
    let mut p = P2Quantile::new(0.5).unwrap();
    p.update(&(1..=20).rev().map(f64::from).collect::<Vec<_>>())
        .unwrap();
    println!("{:?} {:?}", p.quantile(0.5), p.positions());
    let mut p = P2Quantile::new(0.9).unwrap();
    p.update(&[4096.0; 50]).unwrap();
    p.update(&[10.0; 50]).unwrap();
    println!("{:?} {:?}", p.quantile(0.9), p);
}

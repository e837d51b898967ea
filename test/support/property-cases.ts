/** Cases of the costly properties: a third of them in each test run, all of them in test/soak. */
export function casesOf(count: number): number {
  return Math.ceil(count * Number(process.env['OPSD_TEST_CASES'] ?? 1 / 3));
}

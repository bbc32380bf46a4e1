/** Values of labels: names of models and tools come from elsewhere, and each value is a time series for good. */

/** Gives the value of a label, or `other` for every value beyond the first `max` of that label. */
export function boundedLabels(max: number): (label: string, value: string) => string {
  const known = new Map<string, Set<string>>();
  return (label, value) => {
    const values = known.get(label) ?? new Set<string>();
    known.set(label, values);
    if (!values.has(value) && values.size >= max) return 'other';
    values.add(value);
    return value;
  };
}

/** A part of something larger. */

/** A value of the type with only the members that a test needs: the one place that pretends the others exist. */
export function partial<Whole>(members: Partial<NoInfer<Whole>> = {}): Whole {
  return members as Whole;
}

/** A map that keeps its newest entries, those set or read last: what it forgets must be harmless to lack. */
export class Recent<K, V> {
  readonly #map = new Map<K, V>();

  constructor(readonly most: number) {}

  get size(): number {
    return this.#map.size;
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    if (this.#map.size > this.most) this.#map.delete(this.#map.keys().next().value!);
  }

  delete(key: K): void {
    this.#map.delete(key);
  }

  /** The entries, the oldest first. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map.entries();
  }
}

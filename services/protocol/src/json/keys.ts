// Which keys one object has had so far (design ruling 1: none may come twice).

/** The keys of one object. Few are looked through; from so many on a set is the cheaper. */
const FEW_KEYS = 8;

export class Keys {
  private readonly few: string[] = [];
  private many: Set<string> | null = null;

  /** False: it is there already. */
  add(key: string): boolean {
    const { few } = this;
    if (this.many === null) {
      if (few.includes(key)) return false;
      few.push(key);
      if (few.length > FEW_KEYS) this.many = new Set(few);
      return true;
    }
    if (this.many.has(key)) return false;
    this.many.add(key);
    return true;
  }
}

"""`python -m bench embedded`: models as C beside other generators of C, on a Cortex-M4: flash, instructions a row, compile time.

Every model is compiled by arm-none-eabi-gcc -Os for a Cortex-M4 with its single-precision FPU and linked into an image of its own whose entry is the function that
predicts raw scores (probabilities, where a generator has only these). Flash is what the image loads: code, tables and the parts of the C library that it needs.
Instructions are those that an emulator (unicorn) executes, the mean of 40 rows; "skipped" are those beside them whose condition does not hold, which a processor fetches all the same.
None of these depends on how busy the machine is. Compile time is processor time of that
compiler, the least of five runs. "bits" is the share of 2,000 rows, half of them data and half data with values at a threshold or beside it, with the very raw score of the library: by the same source,
compiled for this machine. "on the M4" is the same share of the 40 rows in the emulator. For secateur the whole cover test that `pack --test` writes runs in the emulator too: how many of its rows have other bits (sums, with
quantised leaves). YDF's standalone code is C++ for trees that were given to YDF through its tree API; it has floats with six digits. A generator that is not installed, fails or has no such model is shown as such.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import datetime
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import RandomForestClassifier

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECATEUR = ROOT / "target/release/secateur"
sys.path.insert(0, str(ROOT / "bench"))

import lossless  # noqa: E402
import ydf_model  # noqa: E402

M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
COUNTED, JUDGED = 40, 1000


def table(datasets: pathlib.Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    values = pd.read_csv(datasets / name / f"{name}.full.csv").to_numpy()
    # Values that an f32 holds, so that generators of f32 code get the same inputs.
    return values[:, :-1].astype(np.float32).astype(np.float64), np.unique(values[:, -1], return_inverse=True)[1]


class Built:
    """A generator's code for one model: sources, a wrapper `void entry(const T *row, S *out)`, and the types."""

    def __init__(self, folder: pathlib.Path, sources: list[str], wrapper: str, row: str, out: str, raw: bool = True, cpp: bool = False) -> None:
        self.folder, self.sources, self.row, self.out = folder, sources, row, out
        # C++ in place of C.
        self.compiler, self.language = ("g++", ydf_model.CPP) if cpp else ("gcc", [])
        # Raw scores, and not probabilities, which cannot be compared.
        self.raw = raw
        (folder / "entry.c").write_text(wrapper)

    def compile(self) -> tuple[pathlib.Path, float]:
        """The image, and the processor seconds of the compiler."""
        image = self.folder / "image.elf"
        return image, self.seconds([*self.sources, "entry.c"], image)

    def seconds(self, sources: list[str], image: pathlib.Path) -> float:
        """The compiler's processor time for an image of these sources: the least of five runs, or of fewer where they are long."""
        # Without -lc's start: the entry is the function itself. nosys has what the C library asks of a system.
        command = [f"arm-none-eabi-{self.compiler}", *self.language, *M4, "-Os", "-ffunction-sections", "-fdata-sections", "-nostartfiles"]
        command += ["--specs=nano.specs", "--specs=nosys.specs"]
        command += [*sources, "-Wl,--gc-sections", "-Wl,-e,entry", "-Wl,--no-warn-rwx-segments", "-lm", "-o", str(image)]
        found: list[float] = []
        while len(found) < 5 and sum(found) < 3:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)

    def starting(self, text: str) -> float:
        """The same for as many files as these sources are, each with this text alone."""
        names = [f"start{at}.c" for at in range(len(self.sources) + 1)]
        for name in names:
            (self.folder / name).write_text(text)
        return self.seconds(names, self.folder / "start.elf")

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """The scores of rows on this machine."""
        library = self.folder / "native.so"
        compiler = "cc" if self.compiler == "gcc" else self.compiler
        command = [compiler, *self.language, "-O1", "-shared", "-fPIC", *self.sources, "entry.c", "-lm", "-o", str(library)]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        entry = ctypes.CDLL(str(library)).entry
        rows = np.ascontiguousarray(rows, dtype=np.float32 if self.row == "float" else np.float64)
        out = np.zeros(8, dtype=np.float32 if self.out == "float" else np.float64)
        scores = []
        for row in rows:
            entry(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
            scores.append(out[0])
        return np.array(scores)


def counted(image: pathlib.Path, rows: np.ndarray, wide: bool, wide_out: bool) -> tuple[int, int, int, np.ndarray]:
    """The bytes that the image loads, its instructions a row, those that conditions skip, and the scores."""
    import unicorn
    from unicorn import arm_const as arm

    machine, entry, flash = loaded(image, unicorn, arm)
    steps: collections.Counter[int] = collections.Counter()

    def step(_: object, address: int, *__: object) -> None:
        steps[address] += 1

    machine.hook_add(unicorn.UC_HOOK_CODE, step)
    scores = []
    for row in rows[:COUNTED]:
        machine.mem_write(0x20000000, row.astype(np.float64 if wide else np.float32).tobytes())
        machine.reg_write(arm.UC_ARM_REG_SP, 0x20300000)
        machine.reg_write(arm.UC_ARM_REG_R0, 0x20000000)
        machine.reg_write(arm.UC_ARM_REG_R1, 0x20010000)
        machine.reg_write(arm.UC_ARM_REG_LR, 0x3F00001)
        machine.emu_start(entry | 1, 0x3F00000)
        out = bytes(machine.mem_read(0x20010000, 8 if wide_out else 4))
        scores.append(struct.unpack("<d" if wide_out else "<f", out)[0])
    return flash, round(steps.total() / COUNTED), round(skipped(machine, steps) / COUNTED), np.array(scores)


def skipped(machine: Any, steps: collections.Counter[int]) -> int:
    """How many instructions were not executed because the condition that an IT instruction before them sets did not hold."""

    def half(address: int) -> int:
        return struct.unpack("<H", machine.mem_read(address, 2))[0]

    found = 0
    for address, times in list(steps.items()):
        # The lowest bit that is set ends the list of up to four conditions; without one it is another instruction.
        conditions = half(address) & 15
        if half(address) >> 8 == 0xBF and conditions:
            at = address + 2
            for _ in range(4 - (conditions & -conditions).bit_length() + 1):
                found += times - steps[at]
                at += 4 if half(at) >> 11 in (0b11101, 0b11110, 0b11111) else 2
    return found


def loaded(image: pathlib.Path, unicorn: Any, arm: Any) -> tuple[Any, int, int]:
    """A core with the image, its entry, and the bytes that it loads."""
    data = image.read_bytes()
    (entry, headers) = struct.unpack_from("<II", data, 24)
    size, count = struct.unpack_from("<HH", data, 42)
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    machine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
    machine.mem_map(0, 64 << 20)
    machine.mem_map(0x20000000, 4 << 20)
    # The FPU is off until somebody switches it on, here by the coprocessor access register.
    machine.mem_map(0xE000E000, 0x1000)
    flash = 0
    for index in range(count):
        kind, offset, address, _, in_file, _ = struct.unpack_from("<IIIIII", data, headers + index * size)
        if kind == 1:
            machine.mem_write(address, data[offset : offset + in_file])
            flash += in_file
    return machine, entry, flash


def covered(built: Built) -> str:
    """The cover test in the emulator: how many of how many rows have other bits."""
    import unicorn
    from unicorn import arm_const as arm

    image = built.folder / "cover.elf"
    (built.folder / "start.c").write_text("unsigned long model_test(void);\nunsigned long start(void) { return model_test(); }\n")
    command = ["arm-none-eabi-gcc", *M4, "-Os", "-Dmodel_NO_MAIN", "-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs"]
    command += ["model.c", "test.c", "start.c", "-Wl,-e,start", "-Wl,--no-warn-rwx-segments", "-lm", "-o", str(image)]
    subprocess.run(command, cwd=built.folder, check=True, capture_output=True)
    machine, entry, _ = loaded(image, unicorn, arm)
    machine.reg_write(arm.UC_ARM_REG_SP, 0x20300000)
    machine.reg_write(arm.UC_ARM_REG_LR, 0x3F00001)
    machine.emu_start(entry | 1, 0x3F00000)
    rows = int(re.search(r"#define model_TEST_ROWS (\d+)", (built.folder / "test.c").read_text())[1])
    return f"{machine.reg_read(arm.UC_ARM_REG_R0):,} of {rows:,}"


def best_others(images: dict[str, tuple[pathlib.Path, int, bool]]) -> dict[str, int]:
    """The least flash of other generators: of all, of those that give the library's bits, and of all but YDF, whose numbers have six digits."""
    others = {peer: found[1:] for peer, found in images.items() if not peer.startswith("secateur")}
    chosen = {
        "of all": others,
        "with the library's bits": {peer: found for peer, found in others.items() if found[1]},
        "but YDF": {peer: found for peer, found in others.items() if not peer.startswith("YDF")},
    }
    found: dict[str, tuple[str, int]] = {}
    for words, peers in chosen.items():
        if peers:
            best = min(peers, key=lambda peer: peers[peer][0])
            found.setdefault(best, (f"{best}, the best other {words}", peers[best][0]))
    return dict(found.values())


def code_bytes(image: pathlib.Path) -> int:
    """The bytes of an image's code."""
    told = subprocess.run(["arm-none-eabi-size", "-A", image], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"^\.text\s+(\d+)", told, re.MULTILINE)[1])


def ours(folder: pathlib.Path, model: pathlib.Path, _: object, kind: str, *options: str) -> Built:
    command = [SECATEUR, "pack", model, "-o", folder / "model.c", "--test", folder / "test.c", *options]
    subprocess.run(command, check=True, capture_output=True)
    row, out = re.search(r"void model_raw\(const (\w+) \*row, (\w+) \*", (folder / "model.h").read_text()).groups()
    wrapper = f'#include "model.h"\nvoid entry(const {row} *row, {out} *out) {{ model_raw(row, out); }}\n'
    return Built(folder, ["model.c"], wrapper, row, out, raw=out != "int32_t")


def ours_small(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return ours(folder, model, fitted, kind, "--layout", "small")


def ours_fast(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return ours(folder, model, fitted, kind, "--layout", "fast")


def ours_keys(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return ours(folder, model, fitted, kind, "--keys")


def ours_whole(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return ours(folder, model, fitted, kind, "--keys", "--leaves", "16", "--time-limit", "1s")


def tl2cgen_quantised(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return treelite_code(folder, fitted, kind, {"quantize": 1})


def tl2cgen_plain(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    return treelite_code(folder, fitted, kind, {})


def treelite_code(folder: pathlib.Path, fitted: object, kind: str, params: dict) -> Built:
    import tl2cgen
    import treelite

    if kind == "forest":
        ensemble = treelite.sklearn.import_model(fitted)
    elif kind == "xgboost":
        ensemble = treelite.frontend.from_xgboost(fitted.get_booster())
    else:
        ensemble = treelite.frontend.from_lightgbm(fitted.booster_)
    tl2cgen.generate_c_code(ensemble, dirpath=str(folder), params=params, verbose=False)
    header = (folder / "header.h").read_text()
    found = re.search(r"predict\(union Entry\* data, int pred_margin, (\w+)\* result\)", header)
    out = found.group(1)
    row = "float" if "float fvalue" in header else "double"
    wrapper = f'#include "header.h"\nvoid entry(const {row} *row, {out} *out) {{ union Entry data[200]; int i; for (i = 0; i < FEATURES; i++) data[i].fvalue = row[i]; out[0] = 0; predict(data, 1, out); }}\n'
    wrapper = wrapper.replace("FEATURES", str(fitted.n_features_in_))
    return Built(folder, [path.name for path in folder.glob("*.c")], wrapper, row, out)


def m2cgen_code(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    import m2cgen
    import sys

    sys.setrecursionlimit(10_000)
    (folder / "generated.c").write_text(m2cgen.export_to_c(fitted))
    wrapper = "void score(double *input, double *output);\nvoid entry(const double *row, double *out) { score((double *)row, out); }\n"
    return Built(folder, ["generated.c"], wrapper, "double", "double", raw=kind == "forest")


def emlearn_code(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    import emlearn

    if kind != "forest":
        raise ValueError("no such model: it has no boosters")
    converted = emlearn.convert(fitted, method="inline", dtype="float")
    converted.save(file=str(folder / "model.h"), name="model")
    wrapper = f'#include "model.h"\nvoid entry(const float *row, float *out) {{ model_predict_proba(row, {fitted.n_features_in_}, out, 2); }}\n'
    built = Built(folder, [], wrapper, "float", "float")
    include = emlearn.includedir
    (folder / "entry.c").write_text(wrapper)
    for path in pathlib.Path(include).glob("*.h"):
        (folder / path.name).write_bytes(path.read_bytes())
    return built


def timber_code(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    import pickle

    from timber.codegen.c99 import C99Emitter, TargetSpec
    from timber.frontends.auto_detect import parse_model

    path = folder / {"xgboost": "fitted.json", "lightgbm": "fitted.txt", "forest": "fitted.pkl"}[kind]
    if kind == "xgboost":
        fitted.save_model(path)
    elif kind == "lightgbm":
        fitted.booster_.save_model(path)
    else:
        path.write_bytes(pickle.dumps(fitted))
    C99Emitter(TargetSpec.for_embedded("cortex-m4")).emit(parse_model(path)).write(folder)
    wrapper = '#include "model.h"\nvoid entry(const float *row, float *out) { timber_infer_single(row, out, 0); }\n'
    return Built(folder, ["model.c", "model_data.c"], wrapper, "float", "float", raw=False)


def ydf_standalone(folder: pathlib.Path, model: pathlib.Path, fitted: object, kind: str) -> Built:
    trees = ydf_model.trees_of(kind, fitted)
    # YDF trains on some rows before its trees are replaced; which ones does not matter.
    rows = np.random.default_rng(0).random((1000, trees.features))
    ydf_model.write_standalone(trees, ydf_model.ydf_model(trees, rows), folder)
    wrapper = 'extern "C" void score(const float *row, float *out);\nextern "C" void entry(const float *row, float *out) { score(row, out); }\n'
    # Of a forest it has the share of the second class, which the library's first is not compared with.
    return Built(folder, ["standalone.cc"], wrapper, "float", "float", raw=kind != "forest", cpp=True)


PEERS = {
    "secateur": ours,
    "secateur, fast": ours_fast,
    "secateur, small": ours_small,
    "secateur, keys": ours_keys,
    "secateur, keys, leaves of 16 bits": ours_whole,
    "tl2cgen, quantised": tl2cgen_quantised,
    "tl2cgen": tl2cgen_plain,
    "m2cgen": m2cgen_code,
    "emlearn": emlearn_code,
    "timber": timber_code,
    "YDF standalone": ydf_standalone,
}


def compiler_words(found: dict[str, dict[str, float]]) -> str:
    """How much of the compile times is the compiler starting, and how they compare without that."""
    others = {peer: times for peer, times in found.items() if not peer.startswith("secateur")}
    if "secateur" not in found or not others:
        return ""
    ours = found["secateur"]
    words = f"\nThe compiler takes {ours['empty']:.3f} s with the same options for as many empty files as secateur's, and {ours['included']:.3f} s if they include `<float.h>` and `<stdint.h>`: "
    words += f"{ours['included'] / ours['whole']:.0%} of the {ours['whole']:.3f} s for secateur's source. "
    best = min(others, key=lambda peer: others[peer]["whole"])
    theirs = others[best]
    words += f"The best other is {best} with {theirs['whole']:.3f} s, {theirs['whole'] / ours['whole']:.1f} times as long. "
    rest, their_rest = (times["whole"] - times["included"] for times in (ours, theirs))
    words += f"Less what empty files take with these includes, each for its own number of files, it is {their_rest:.3f} s beside {rest:.3f} s, "
    return words + (f"{their_rest / rest:.1f} times as long.\n" if rest > 0.002 else "which cannot be measured any more.\n")



def fit(datasets: pathlib.Path, folder: pathlib.Path, name: str, kind: str, size: int, trees: int):
    X, y = table(datasets, name)
    if kind == "xgboost":
        # m2cgen reads base_score from the estimator, where it is only if it was given.
        fitted = xgboost.XGBClassifier(n_estimators=trees, max_depth=size, learning_rate=0.1, base_score=0.5, n_jobs=1).fit(X, y)
        path = folder / "model.ubj"
        fitted.save_model(path)
        raw = lambda rows: fitted.predict(rows.astype(np.float32), output_margin=True)  # noqa: E731
    elif kind == "lightgbm":
        fitted = lightgbm.LGBMClassifier(n_estimators=trees, num_leaves=size, n_jobs=1, verbose=-1).fit(X, y)
        path = folder / "model.txt"
        fitted.booster_.save_model(path)
        raw = lambda rows: fitted.predict(rows, raw_score=True)  # noqa: E731
    else:
        import skops.io

        fitted = RandomForestClassifier(trees, max_depth=size, random_state=0, n_jobs=1).fit(X, y)
        path = folder / "model.skops"
        skops.io.dump(fitted, path)
        raw = lambda rows: fitted.predict_proba(rows.astype(np.float32))[:, 0]  # noqa: E731
    rng = np.random.default_rng(0)
    data = X[rng.integers(len(X), size=JUDGED)]
    # The hostile half: three values of each row at a threshold, or one step of an f32 beside it.
    hostile = X[rng.integers(len(X), size=JUDGED)].copy()
    thresholds = thresholds_of(fitted, kind)
    for row in hostile:
        for column in rng.choice(sorted(thresholds), 3):
            near = np.float32(rng.choice(thresholds[column]))
            row[column] = rng.choice([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    return fitted, path, np.vstack([data, hostile]), raw


def thresholds_of(fitted: object, kind: str) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    if kind == "xgboost":
        frame = fitted.get_booster().trees_to_dataframe()
        frame = frame[frame.Feature != "Leaf"]
        for feature, split in zip(frame.Feature, frame.Split, strict=True):
            found.setdefault(int(feature[1:]), []).append(split)
    elif kind == "lightgbm":
        frame = fitted.booster_.trees_to_dataframe()
        names = fitted.booster_.feature_name()
        frame = frame[frame.threshold.notna()]
        for feature, split in zip(frame.split_feature, frame.threshold, strict=True):
            found.setdefault(names.index(feature), []).append(split)
    else:
        for tree in fitted.estimators_:
            inner = tree.tree_.children_left >= 0
            for feature, split in zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True):
                found.setdefault(int(feature), []).append(split)
    return found


# So many times less flash than the best other generator.
FLASH_GOALS = {"xgboost": 3.5, "lightgbm": 3}
CASES = [
    ("House-16H", "xgboost", 6, 100),
    ("Spambase", "xgboost", 6, 300),
    ("House-16H", "lightgbm", 63, 100),
    ("House-16H", "forest", 8, 50),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=pathlib.Path, required=True)
    parser.add_argument("--save", action="store_true", help="write bench/results/DATE-embedded.md")
    parser.add_argument("--peers", default=",".join(PEERS), help="which of them, with commas between")
    parser.add_argument("--only", default="", help="a part of a model's title; the others are left out")
    arguments = parser.parse_args()
    version = subprocess.run(["arm-none-eabi-gcc", "-dumpversion"], check=True, capture_output=True, text=True).stdout.strip()
    text = f"# Models as C on a Cortex-M4, {datetime.date.today()}\n\n{__doc__.split(chr(10), 2)[2]}\narm-none-eabi-gcc {version}, XGBoost {xgboost.__version__}, LightGBM {lightgbm.__version__}.\n"
    wanted = [name for name in PEERS if any(name.startswith(peer.strip()) for peer in arguments.peers.split(","))]
    for name, kind, size, trees in CASES:
        words = {"xgboost": f"XGBoost, depth {size}", "lightgbm": f"LightGBM, {size} leaves", "forest": f"forest, depth {size}"}[kind]
        title = f"{words}, {trees} trees, {name}"
        if arguments.only not in title:
            continue
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            fitted, path, rows, raw = fit(arguments.datasets, place, name, kind, size, trees)
            truth = raw(rows)
            text += f"\n## {title}\n\n| generator | flash, bytes | instructions a row | skipped | compiler, s | bits | on the M4 | wrong rows of the cover |\n|---|---|---|---|---|---|---|---|\n"
            times: dict[str, dict[str, float]] = {}
            images: dict[str, tuple[pathlib.Path, int, bool]] = {}
            for peer in wanted:
                make = PEERS[peer]
                folder = place / re.sub(r"\W", "_", peer)
                folder.mkdir()
                try:
                    built = make(folder, path, fitted, kind)
                    image, seconds = built.compile()
                    flash, instructions, passed_over, emulated = counted(image, rows, built.row == "double", built.out == "double")
                    bits, same = "not raw scores | -", 0.0
                    if built.raw:
                        scores = built.scores(rows)
                        same = np.mean(scores.astype(truth.dtype) == truth)
                        there = np.mean(emulated.astype(truth.dtype) == truth[:COUNTED])
                        far = "" if same == 1 else f", others up to {np.abs(scores - truth).max():.0e} off"
                        bits = f"{same:.1%}{far} | {there:.1%}"
                    cover = covered(built) if peer.startswith("secateur") else "-"
                    empty, included = built.starting(""), built.starting("#include <float.h>\n#include <stdint.h>\n")
                    text += f"| {peer} | {flash:,} | {instructions:,} | {passed_over:,} | {seconds:.2f} | {bits} | {cover} |\n"
                    times[peer] = {"whole": seconds, "empty": empty, "included": included}
                    images[peer] = image, flash, built.raw and same == 1
                except Exception as error:  # noqa: BLE001
                    said = getattr(error, "stderr", None) or str(error)
                    said = said.decode() if isinstance(said, bytes) else said
                    text += f"| {peer} | - | - | - | - | {' '.join(said.split())[:90]} | - | - |\n"
                print(text.splitlines()[-1], flush=True)
            text += compiler_words(times)
            if kind in FLASH_GOALS and "secateur" in images:
                text += lossless.page(kind, fitted, best_others(images), code_bytes(images["secateur"][0]), FLASH_GOALS[kind])
    print(text)
    if arguments.save:
        (ROOT / f"bench/results/{datetime.date.today()}-embedded.md").write_text(text)


if __name__ == "__main__":
    main()

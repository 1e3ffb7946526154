/* SPDX-License-Identifier: MIT */
/* Calls that end by exceptions, virtual calls, and containers.  Built without inlining. */
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual int sides() const = 0;
};

struct square : shape {
	int sides() const override
	{
		return 4;
	}
};

struct triangle : shape {
	int sides() const override
	{
		return 3;
	}
};

static int fall(int n)
{
	std::string held = "held " + std::to_string(n);

	if (!n)
		throw std::runtime_error(held);
	return fall(n - 1) + (int)held.size();
}

int main()
{
	std::map<std::string, int> seen;
	std::vector<std::unique_ptr<shape>> shapes;
	int sum = 0;

	for (int i = 0; i < 40; i++)
		try {
			sum += fall(i % 7);
		} catch (const std::exception &e) {
			seen[e.what()]++;
			shapes.push_back(i % 3 ? std::unique_ptr<shape>(new square)
					       : std::unique_ptr<shape>(new triangle));
		}
	for (const auto &s : shapes)
		sum += s->sides();
	std::printf("%d %zu\n", sum, seen.size());
	return 0;
}
